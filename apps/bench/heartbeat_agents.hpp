#pragma once

#include "apps/bench/other_process.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace reprieve {

/// What agents are to do.
struct agent_traffic {
  std::size_t agents = 128;        ///< threads with a connection of their own
  std::size_t nodes = 0;           ///< divided among the agents
  std::size_t per_message = 1;     ///< nodes that one message speaks for
  std::size_t per_second = 0;      ///< heartbeats of all agents together; 0 for none at all
  std::size_t rounds = 0;          ///< or as fast as it goes, so often for each node
  std::size_t seconds = 0;         ///< how long, where no rounds are given
  std::size_t gets_per_second = 0; ///< of one node each, by one more client
};

/// What came of it, as it travels between processes.
struct agent_account {
  std::uint64_t heartbeats = 0; ///< that were taken in
  std::uint64_t failed = 0;     ///< calls that were refused, or named a node that is not known
  std::uint64_t gets = 0;
  double get_p50_ms = 0;
  double get_p99_ms = 0;
  double get_max_ms = 0;
};

/// One order to the process of the agents.
struct agent_order {
  char address[64] = {};
  agent_traffic wanted;
};

/// A process that plays the agents of many nodes with the real client, apart from the server so
/// that its processor time does not count as the server's.
class heartbeat_agents {
public:
  /// Must be made before anything in this process starts a thread.
  heartbeat_agents();

  /// Plays against the server at the address and waits for the end; nothing where the process
  /// ended.
  std::optional<agent_account> play(const std::string& address, const agent_traffic& wanted);

private:
  other_process<agent_order, agent_account> process_;
};

} // namespace reprieve
