#include "tests/replicas/decision_stream.hpp"

#include "protocol/client/api_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace reprieve::replicas {

namespace {

/// The group that a decision such as `0000002a.000003.default` is of.
std::string group_of(const std::string& decision) {
  const auto second = decision.find('.', decision.find('.') + 1);
  return second == std::string::npos ? std::string{} : decision.substr(second + 1);
}

workload small_work(const std::string& group, int stream, int number) {
  workload w;
  w.name = fmt::format("{}-work-{}-{}", group, stream, number);
  w.resource_group = group;
  w.priority = 10;
  auto& pods = w.groups.emplace_back();
  pods.name = "pods";
  pods.count = 1;
  pods.pods.requests = {{"gpu", 1000}};
  pods.pods.annotations["simulation/run-for"] = "300ms";
  return w;
}

} // namespace

std::string make_groups(const std::vector<std::string>& servers,
                        const std::vector<std::string>& groups, int nodes_of_each) {
  api_client server({servers});
  const auto apply = [&](const std::vector<object>& objects) {
    absl::Status how;
    for (int i = 0; i < 100; ++i) {
      how = server.apply({objects, false}).status();
      if (how.ok())
        return std::string{};
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
    return std::string(how.message());
  };
  for (const auto& name : groups) {
    resource_group group;
    group.name = name;
    std::vector<object> objects{group};
    for (int i = 0; i < nodes_of_each; ++i) {
      node n;
      n.name = fmt::format("{}-{}", name, i);
      n.resource_group = name;
      n.capacity = {{"gpu", 8000}};
      objects.emplace_back(n);
    }
    if (auto why = apply(objects); !why.empty())
      return why;
  }
  return {};
}

decision_stream::decision_stream(std::vector<std::string> servers, std::vector<std::string> groups,
                                 duration every)
    : servers_(std::move(servers)), every_(every) {
  static std::atomic<int> streams = 0;
  number_ = streams++; // what another one submitted is there already
  for (auto& group : groups)
    threads_.emplace_back([this, group] { submit_to(group); });
  threads_.emplace_back([this] { follow(); });
}

decision_stream::~decision_stream() {
  over_ = true;
}

void decision_stream::submit_to(const std::string& group) {
  api_client server({servers_});
  auto next = std::chrono::steady_clock::now();
  for (int number = 0; !over_; ++number) {
    const auto applied = server.apply({{small_work(group, number_, number)}, false});
    if (!applied.ok()) {
      const std::lock_guard lock(mutex_);
      ++refusals_[fmt::format("{}: {}", group, std::string(applied.status().message()))];
    }
    next = std::max(next + every_, std::chrono::steady_clock::now());
    std::this_thread::sleep_until(next);
  }
}

void decision_stream::follow() {
  api_client server({{servers_.front()}});
  std::int64_t seen = 0;
  while (!over_) {
    (void)server.events(seen, false, [&](const event& one) {
      seen = std::max(seen, one.sequence);
      if (one.type == "Started") {
        const std::lock_guard lock(mutex_);
        commits_[group_of(one.decision)].push_back(one.at);
      }
      return true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
}

std::vector<time_point> decision_stream::commits(const std::string& group) const {
  const std::lock_guard lock(mutex_);
  const auto found = commits_.find(group);
  auto times = found == commits_.end() ? std::vector<time_point>{} : found->second;
  std::ranges::sort(times);
  return times;
}

decision_stream::gap decision_stream::longest_gap(const std::string& group, time_point from,
                                                  time_point to) const {
  gap longest{duration{0}, from};
  auto last = from;
  auto times = commits(group);
  times.push_back(to);
  for (const auto one : times) {
    if (one < from || one > to)
      continue;
    if (one - last > longest.length)
      longest = {one - last, last};
    last = one;
  }
  return longest;
}

time_point decision_stream::first_after(const std::string& group, time_point moment) const {
  for (const auto one : commits(group))
    if (one > moment)
      return one;
  return no_time;
}

std::map<std::string, int> decision_stream::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

} // namespace reprieve::replicas
