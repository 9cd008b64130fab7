#pragma once

#include "protocol/client/api_client.hpp"

#include <absl/status/statusor.h>

#include <string>

namespace CLI {
class App;
}

namespace reprieve::cli {

/// Where the servers are and who calls, as the command line and the environment give it.
struct connection_options {
  std::string servers = "127.0.0.1:7420"; ///< with commas between them
  std::string token;
  std::string token_file;
  tls_files tls;
  bool insecure = false;
};

void add_connection_options(CLI::App& app, connection_options& options);

/// Reads the files, and refuses to send a token where others could read it.
absl::StatusOr<client_options> read_connection(const connection_options& given);

} // namespace reprieve::cli
