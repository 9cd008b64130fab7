#pragma once

#include <string>

namespace reprieve {

/// A loopback `host:port` that nobody listens on at present.
std::string free_endpoint();

} // namespace reprieve
