#pragma once

#include "tests/support/history.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace reprieve::replicas {

/// Nodes with so many places each; every pod takes one.
inline constexpr int places_per_node = 4;
inline constexpr int nodes_per_group = 6;
/// Members of a gang, which goes as a whole.
inline constexpr int gang_size = 4;
const std::vector<std::string>& resource_groups();

/// Sets up resource groups, nodes and queues; why not, where it can't.
std::string set_up(const std::vector<std::string>& servers);

/// People who submit, scale, delete and look, each with a connection to all replicas; what they
/// hear is taken down. More is asked for than there is room, by work of different importance, so
/// that some has to yield all the time.
class load {
public:
  load(std::vector<std::string> servers, int clients);
  ~load();

  /// Has everybody stop.
  void end();

  /// Looks at every workload once more.
  void look_at_all();

  std::vector<recorded_call> calls() const {
    return recorder_.calls();
  }

private:
  std::vector<std::string> servers_;
  history_recorder recorder_;
  std::atomic<bool> over_ = false;
  std::vector<std::jthread> people_;
};

} // namespace reprieve::replicas
