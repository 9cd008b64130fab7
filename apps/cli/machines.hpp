#pragma once

#include "protocol/access/tls_files.hpp"

#include <string>

namespace reprieve::cli {

struct machines_request {
  std::string listen = "127.0.0.1:7422";
  std::string journal = "machines.jsonl";
  bool adopt = false; ///< what the records say that runs here, where it knows nothing of it
  std::string address_file;
  tls_files tls;
  bool insecure = false;
};

/// Plays the machines of a whole cluster, for all replicas that are started with `--machines`,
/// until it is told to end. The exit code.
int play_machines(const machines_request& wanted);

} // namespace reprieve::cli
