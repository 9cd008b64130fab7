#pragma once

#include "state/store/memory/memory_store.hpp"
#include "testbed/processes/temporary_directory.hpp"
#include "tests/support/actor_world.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>

namespace reprieve {

/// What the simulated cluster says of itself: how often each pod was started and stopped.
struct account {
  std::map<std::string, int> started;
  std::map<std::string, int> stopped;
};

inline account read_account(const std::string& journal) {
  account told;
  std::ifstream file(journal);
  for (std::string line; std::getline(file, line);) {
    const auto begin = line.find("\"uid\":\"") + 7;
    const auto uid = line.substr(begin, line.find('"', begin) - begin);
    if (line.find("\"stage\":\"starting\"") != std::string::npos)
      ++told.started[uid];
    if (line.find("\"stage\":\"stopping\"") != std::string::npos)
      ++told.stopped[uid];
  }
  return told;
}

/// A whole replica in virtual time, with a store and machines that outlive it.
class replica_test : public testing::Test {
protected:
  std::string journal() const {
    return directory_.path() / "journal";
  }

  temporary_directory directory_;
  std::shared_ptr<memory_store> store_ = std::make_shared<memory_store>();
};

// -- small clusters -------------------------------------------------------------------------------

inline node machine(std::string name, std::int64_t gpus) {
  node n;
  n.name = std::move(name);
  n.capacity = {{"gpu", gpus * 1000}};
  return n;
}

/// Pods of one GPU each, that come back a second after they were preempted.
inline workload work(std::string name, std::int32_t priority = 0, std::int32_t pods = 1) {
  workload w;
  w.name = std::move(name);
  w.priority = priority;
  w.resume.policy = resume_policy::always;
  w.resume.backoff = std::chrono::seconds{1};
  auto& group = w.groups.emplace_back();
  group.name = "pods";
  group.count = pods;
  group.pods.requests = {{"gpu", 1000}};
  return w;
}

/// As `work`, in a queue of the name that it begins with.
inline workload work_in(const std::string& queue, std::int32_t pods) {
  auto w = work(queue + "-work", 0, pods);
  w.queue = queue;
  return w;
}

/// How the simulated machines treat the workload's pods, such as `stop-takes`.
inline workload played(workload w, const std::string& what, std::string how) {
  w.groups[0].pods.annotations["simulation/" + what] = std::move(how);
  return w;
}

/// Lets time pass until so many pods of the workload are in the phase.
inline bool comes_to(replica_world& replica, const std::string& workload, pod_phase phase,
                     std::size_t pods, std::chrono::seconds within) {
  return replica.world().advance_until([&] { return replica.pods(workload, phase) == pods; },
                                       within);
}

} // namespace reprieve
