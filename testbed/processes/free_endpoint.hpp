#pragma once

#include <string>

namespace reprieve {

/// A loopback `host:port` that nobody listens on. It stays this process's own: no outgoing
/// connection gets the port, and no other process of ours that asks here.
std::string free_endpoint();

} // namespace reprieve
