#pragma once

#include "actors/coordinator.hpp"
#include "actors/event_log.hpp"
#include "state/membership_rules.hpp"

#include <string>

namespace reprieve {

/// The way to the other replicas: for whatever one of them owns there is an actor here with the
/// interface of the one there (DESIGN 1). It lives as long as the connection and the shard it
/// speaks for; whoever needs it still asks for another then.
class peers {
public:
  peers() = default;
  peers(const peers&) = delete;
  peers& operator=(const peers&) = delete;
  virtual ~peers() = default;

  /// Who is there by now. Connections to others are ended.
  virtual void know(const membership& members) = 0;

  // Null where there is no connection; `connected` is called when there is one.
  virtual node_shard_actor node_shard(const std::string& replica, const std::string& shard) = 0;
  virtual workload_shard_actor workload_shard(const std::string& replica,
                                              const std::string& shard) = 0;
  virtual queue_shard_actor queue_shard(const std::string& replica, const std::string& shard) = 0;
  virtual coordinator_actor coordinator(const std::string& replica, const std::string& group) = 0;
  virtual event_log_actor event_log(const std::string& replica) = 0;
};

} // namespace reprieve
