#pragma once

#include "protocol/access/tls_files.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace reprieve {

/// How a replica and the others reach each other, and who counts as one of them.
struct peer_options {
  std::string listen;    ///< for the other replicas; empty where there are none
  std::string advertise; ///< what they are told; empty: where it listens
  tls_files tls;         ///< between replicas, both ways; all empty: not encrypted
  std::int64_t lease_milliseconds = 5'000;
  std::int64_t nodes_per_replica = 50'000;
  std::string machines; ///< that run the pods, in a process of their own; empty: in this one
};

void add_peer_options(CLI::App& app, peer_options& options);

} // namespace reprieve
