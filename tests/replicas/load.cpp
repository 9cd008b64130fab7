#include "tests/replicas/load.hpp"

#include "protocol/client/api_client.hpp"
#include "state/model/unchanged_error.hpp"

#include <fmt/format.h>

#include <random>

namespace reprieve::replicas {

namespace {

constexpr int workloads = 40;

std::string name_of_workload(int number) {
  return fmt::format("w{}", number);
}

/// Workloads differ in what they are, always in the same way: gangs and lone pods, of several
/// priorities, in all resource groups.
workload made(int number, int count) {
  workload w;
  w.name = name_of_workload(number);
  w.resource_group = resource_groups()[static_cast<std::size_t>(number) % resource_groups().size()];
  w.priority = 10 * (number % 4);
  w.grace_period = std::chrono::milliseconds{200};
  w.resume.policy = resume_policy::always;
  w.resume.backoff = std::chrono::milliseconds{500};
  auto& group = w.groups.emplace_back();
  group.name = "pods";
  group.pods.requests = {{"gpu", 1000}};
  group.pods.annotations["simulation/stop-takes"] = "100ms";
  if (number % 2 == 0) {
    group.count = gang_size;
    group.replicas = count;
    group.min_count = gang_size;
    group.disruption = disruption_mode::pod_group;
  } else {
    group.count = count;
  }
  return w;
}

/// What was asked for by the one number that scales a workload.
int scale_of(const workload& w) {
  return w.groups.front().is_gang() ? w.groups.front().replicas : w.groups.front().count;
}

call_end end_of(const absl::Status& how) {
  if (absl::IsNotFound(how))
    return call_end::not_found;
  if (absl::IsFailedPrecondition(how))
    return how.message().find("is being deleted") != absl::string_view::npos
             ? call_end::being_deleted
             : call_end::refused;
  if (absl::IsInvalidArgument(how) || is_marked_nothing_changed(how))
    return call_end::refused;
  return call_end::unknown;
}

class person {
public:
  person(int number, std::vector<std::string> servers, history_recorder& recorder)
      : number_(number), luck_(static_cast<std::uint64_t>(number) * 7919),
        server_({in_turn(std::move(servers), number)}), recorder_(recorder) {}

  void act() {
    const int which = below(workloads);
    switch (below(8)) {
    case 0:
      remove(which);
      break;
    case 1:
    case 2:
      apply(which, workload_call::submit);
      break;
    case 3:
      apply(which, workload_call::scale);
      break;
    default:
      get(which);
    }
  }

  void get(int which) {
    const auto name = name_of_workload(which);
    const auto call = recorder_.begin(number_, name, workload_call::get);
    const auto found = server_.get({object_kind::workload, name, {}, {}});
    if (!found.ok()) {
      recorder_.end(call, end_of(found.status()));
    } else if (found->age > duration{0}) {
      recorder_.end(call, call_end::refused); // says itself that it may be old
    } else {
      const auto& shown = found->front();
      recorder_.end(call, workload_sight{shown.workload->uid,
                                         shown.workload->generation,
                                         {{"pods", scale_of(std::get<workload>(shown.what))}}});
    }
  }

private:
  /// So that not everybody begins with the same replica.
  static std::vector<std::string> in_turn(std::vector<std::string> servers, int by) {
    std::rotate(servers.begin(), servers.begin() + by % std::ssize(servers), servers.end());
    return servers;
  }

  int below(int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(luck_);
  }

  void apply(int which, workload_call what) {
    const int count = 1 + below(3);
    const auto call = recorder_.begin(number_, name_of_workload(which), what, {{"pods", count}});
    const auto applied = server_.apply({{made(which, count)}, false});
    recorder_.end(call, applied.ok() ? call_end::ok : end_of(applied.status()));
  }

  void remove(int which) {
    const auto name = name_of_workload(which);
    const auto call = recorder_.begin(number_, name, workload_call::remove);
    const auto removed = server_.remove({object_kind::workload, {name}});
    recorder_.end(call, removed.ok() ? call_end::ok : end_of(removed));
  }

  int number_;
  std::mt19937_64 luck_;
  api_client server_;
  history_recorder& recorder_;
};

} // namespace

const std::vector<std::string>& resource_groups() {
  static const std::vector<std::string> names{"default", "east", "west"};
  return names;
}

std::string set_up(const std::vector<std::string>& servers) {
  api_client server({servers});
  std::vector<object> objects;
  for (const auto& name : resource_groups()) {
    resource_group group;
    group.name = name;
    group.force_delete_after = std::chrono::seconds{2};
    group.heartbeat_timeout = std::chrono::seconds{5};
    group.lost_node_timeout = std::chrono::seconds{2};
    objects.emplace_back(group);
  }
  for (const auto& group : resource_groups())
    for (int i = 0; i < nodes_per_group; ++i) {
      node n;
      n.name = fmt::format("{}-{}", group, i);
      n.resource_group = group;
      n.capacity = {{"gpu", 1000 * places_per_node}};
      objects.emplace_back(n);
    }
  for (int i = 0; i < 100; ++i) {
    const auto applied = server.apply({objects, false});
    if (applied.ok())
      return {};
    if (i == 99)
      return std::string(applied.status().message());
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
  return {};
}

load::load(std::vector<std::string> servers, int clients) : servers_(std::move(servers)) {
  for (int number = 1; number <= clients; ++number)
    people_.emplace_back([this, number] {
      person one(number, servers_, recorder_);
      while (!over_) {
        one.act();
        std::this_thread::sleep_for(std::chrono::milliseconds{15});
      }
    });
}

load::~load() {
  end();
}

void load::end() {
  over_ = true;
  people_.clear();
}

void load::look_at_all() {
  person last(0, servers_, recorder_);
  for (int which = 0; which < workloads; ++which)
    last.get(which);
}

} // namespace reprieve::replicas
