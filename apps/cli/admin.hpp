#pragma once

#include "protocol/access/tls_files.hpp"
#include "protocol/client/api_client.hpp"

#include <string>

namespace CLI {
class App;
}

namespace reprieve::cli {

/// Where a backup is restored to: the embedded store's directory, or else etcd.
struct restore_target {
  std::string data;
  std::string etcd; ///< endpoints with commas between them
  std::string prefix = "/reprieve/";
  tls_files tls;
  std::string user;
  std::string password_file;
};

void add_restore_options(CLI::App& app, restore_target& target);

/// Writes all that the server's store holds to the file.
int backup(api_client& server, const std::string& file);

/// Writes the live state to the file, as manifests that `decide` takes.
int snapshot(api_client& server, const std::string& file);

/// Puts what the file holds into an empty store, without any server.
int restore(const std::string& file, const restore_target& target);

} // namespace reprieve::cli
