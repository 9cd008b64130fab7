#pragma once

#include "state/model/node.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace reprieve::replicas {

/// Those who run the cluster while people use it: they delete nodes, some by force, and bring them
/// back, have a resource group more for a while, and now and then ask for what no record takes.
/// Some machines are watched, and fall silent for a time. In the end all is as it was.
class operators {
public:
  explicit operators(std::vector<std::string> servers);
  ~operators();

  /// Brings everything back. Machines are heard from until this goes.
  void end();

  /// What must not be, such as something too large that was taken.
  std::vector<std::string> complaints() const {
    return complaints_;
  }
  /// How often what was done, by its name.
  const std::map<std::string, int>& done() const {
    return done_;
  }

private:
  void work();
  void watch();
  void lose_a_node();
  void bring_back();
  void have_another_group();
  void ask_too_much();
  int below(int limit);

  std::vector<std::string> servers_;
  std::mt19937_64 luck_{7};
  std::map<std::string, node> away_;
  std::vector<std::string> complaints_;
  std::map<std::string, int> done_;
  std::atomic<bool> over_ = false;    ///< for those who delete
  std::atomic<bool> is_gone_ = false; ///< for the machines
  std::jthread work_;
  std::jthread watch_;
};

} // namespace reprieve::replicas
