#pragma once

#include "state/quantities/time.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace reprieve::replicas {

/// Makes the resource groups with so many nodes each; why not, where it can't.
std::string make_groups(const std::vector<std::string>& servers,
                        const std::vector<std::string>& groups, int nodes_of_each);

/// Small work that comes into each resource group all the time and ends soon, and when it was
/// decided on, as the replicas' events tell.
class decision_stream {
public:
  decision_stream(std::vector<std::string> servers, std::vector<std::string> groups,
                  duration every);
  ~decision_stream();

  /// When the group's decisions were committed, in their order.
  std::vector<time_point> commits(const std::string& group) const;

  /// The longest time between two of them from one moment to another, and when it began.
  struct gap {
    duration length{0};
    time_point began = no_time;
  };
  gap longest_gap(const std::string& group, time_point from, time_point to) const;

  /// When the first of the group was after the moment; `no_time` where none was.
  time_point first_after(const std::string& group, time_point moment) const;

  /// Why submissions were refused, each reason once, with how often.
  std::map<std::string, int> refusals() const;

private:
  void submit_to(const std::string& group);
  void follow();

  std::vector<std::string> servers_;
  duration every_;
  int number_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<time_point>> commits_; ///< by group
  std::map<std::string, int> refusals_;
  std::atomic<bool> over_ = false;
  std::vector<std::jthread> threads_;
};

} // namespace reprieve::replicas
