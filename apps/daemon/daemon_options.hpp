#pragma once

#include "actors/gateway/gateway.hpp"
#include "actors/replica/replica.hpp"
#include "apps/daemon/peer_options.hpp"
#include "apps/daemon/store_options.hpp"
#include "protocol/access/api_settings.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace reprieve {

/// All that the daemon is told when it is started.
struct daemon_options {
  std::string data = "reprieve-data";
  std::string listen = "127.0.0.1:7420";
  std::string replica = "replica-0";
  std::string trace = "none";
  std::string address_file;
  std::string user;
  std::uint32_t node_shards = 4;
  std::uint32_t workload_shards = 2;
  store_options storage;
  peer_options peers;
  api_settings api;
  gateway_limits limits;
  std::int64_t decision_seconds = archive_limits{}.age / std::chrono::seconds{1};
  std::int64_t decision_bytes = archive_limits{}.bytes;
};

void add_daemon_options(CLI::App& app, daemon_options& options);

} // namespace reprieve
