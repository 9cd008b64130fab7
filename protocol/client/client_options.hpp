#pragma once

#include "protocol/access/tls_files.hpp"

#include <string>
#include <vector>

namespace reprieve {

/// How a program reaches the API.
struct client_options {
  /// One or several `host:port`; the next is tried where one does not answer.
  std::vector<std::string> servers;
  /// To encrypt: the authority that the servers' certificates are checked by. With certificate and
  /// key, that is how the client says who it is.
  tls_texts tls{};
  /// Says who calls, in place of a certificate; empty for none.
  std::string token{};
};

} // namespace reprieve
