#include "tests/simulation/client.hpp"

#include <fmt/format.h>

namespace reprieve::simulation {

namespace {

constexpr const char* cluster_name = "cluster";
constexpr const char* spare_group = "spare";

/// Whether the answer leaves open if anything was done.
bool tells_nothing(const absl::Status& answer) {
  return !absl::IsFailedPrecondition(answer) && !absl::IsInvalidArgument(answer)
         && !absl::IsNotFound(answer) && !absl::IsAlreadyExists(answer);
}

} // namespace

client::client(dice& luck, truth& facts, const cluster_shape& shape)
    : luck_(luck), facts_(facts), mood_(shape.now), has_agents_(luck.one_in(3)),
      plenty_(luck.one_in(2)),
      has_files_(shape.batches.operations > 6 || shape.oldest_schema == schema_version) {
  for (const auto& name : shape.groups) {
    auto& group = groups_.emplace_back();
    group.name = name;
    if (name == counted_group)
      group.policy = group_policy::lifecycle;
    group.force_delete_after = std::chrono::seconds{luck_.between(1, 20)};
    group.heartbeat_timeout = std::chrono::seconds{luck_.between(15, 40)};
    group.lost_node_timeout = std::chrono::seconds{luck_.between(1, 30)};
    if (luck_.one_in(2)) {
      auto& budget = budgets_.emplace_back();
      budget.name = "some-" + name;
      budget.resource_group = name;
      budget.match_labels = {{"app", "x"}};
      budget.min_available = 1;
    }
  }
  const auto count =
    static_cast<std::size_t>(mood_ == mood::crowded ? luck_.between(1, 3) : luck_.between(2, 6));
  for (std::size_t i = 0; i < count; ++i)
    nodes_.push_back(draw_node(i));
  if (mood_ == mood::sharing || (mood_ == mood::plain && luck_.one_in(2)))
    draw_queues();
}

void client::draw_queues() {
  const bool nested = luck_.one_in(4);
  if (nested) {
    auto& above = queues_.emplace_back();
    above.name = "all";
    above.cap_by_demand = luck_.one_in(2);
    if (luck_.one_in(2))
      above.limit = {{"gpu", luck_.between(6, 16) * 1000}};
  }
  for (const auto* name : {"q1", "q2", "q3"}) {
    auto& q = queues_.emplace_back();
    q.name = name;
    if (nested && q.name != "q3")
      q.parent = "all";
    q.weight = luck_.between(1, 3);
    q.cap_by_demand = !luck_.one_in(3);
    if (luck_.one_in(mood_ == mood::sharing ? 1 : 3))
      q.limit = {{"gpu", luck_.between(3, mood_ == mood::sharing ? 6 : 12) * 1000}};
    if (luck_.one_in(3))
      q.guaranteed = {{"gpu", luck_.between(1, 3) * 1000}};
  }
}

/// Another weight, limit or guarantee.
std::string client::ask_for_a_queue(member& through) {
  auto& known = queues_[luck_.below(queues_.size())];
  if (is_asked(known.name))
    return {};
  auto changed = known;
  switch (luck_.below(6)) {
  case 0:
    changed.limit.clear();
    break;
  case 1:
    changed.limit = {{"gpu", luck_.between(3, 12) * 1000}};
    break;
  case 2:
    changed.guaranteed = {{"gpu", luck_.between(0, 3) * 1000}};
    break;
  default:
    changed.weight = luck_.between(1, 5);
    break;
  }
  return ask(through, changed.name, {changed}, [&known, changed] { known = changed; });
}

/// It is closed, opened, deleted, or there again.
std::string client::ask_for_a_node(member& through) {
  auto& one = nodes_[luck_.below(nodes_.size())];
  if (is_asked(one.name))
    return {};
  if (luck_.one_in(3) && !gone_.contains(one.name))
    return ask_to_delete(
      through, object_kind::node, one.name, [this, name = one.name] { gone_.insert(name); },
      luck_.one_in(3));
  if (!gone_.contains(one.name))
    one.schedulable = !one.schedulable;
  return ask(through, one.name, {one}, [this, name = one.name] { gone_.erase(name); });
}

void client::beat(member& through) {
  heartbeat_request alive;
  for (const auto& name : of_stories_)
    if (!silent_.contains(name))
      alive.nodes.push_back(name);
  for (const auto& one : nodes_)
    if (!silent_.contains(one.name) && !gone_.contains(one.name))
      alive.nodes.push_back(one.name);
  if (!has_agents_ || !ready_ || alive.nodes.empty())
    return;
  through.world().system().spawn([to = through.gateway(), alive](caf::event_based_actor* self) {
    self->request(to, caf::infinite, alive).then([](heartbeat_result&) {}, [](caf::error&) {});
  });
}

std::string client::silence_one() {
  if (!has_agents_ || nodes_.empty())
    return {};
  const auto& name = nodes_[luck_.below(nodes_.size())].name;
  return silent_.insert(name).second ? fmt::format("machine {} falls silent", name) : std::string{};
}

std::string client::silence(const std::string& name) {
  silent_.insert(name);
  return fmt::format("machine {} falls silent", name);
}

std::string client::wake_one() {
  if (silent_.empty())
    return {};
  const auto name =
    *std::next(silent_.begin(), static_cast<std::ptrdiff_t>(luck_.below(silent_.size())));
  silent_.erase(name);
  return fmt::format("machine {} is heard again", name);
}

/// One that has nothing, and gets a part of all limits: it comes, or goes.
std::string client::ask_for_a_group(member& through) {
  if (is_asked(spare_group))
    return {};
  if (luck_.one_in(2))
    return ask_to_delete(through, object_kind::resource_group, spare_group, [] {});
  resource_group wanted;
  wanted.name = spare_group;
  return ask(through, spare_group, {wanted}, [] {});
}

node client::draw_node(std::size_t number) {
  node n;
  n.name = fmt::format("n{}", number);
  n.resource_group = groups_[number % groups_.size()].name;
  n.labels = {{"zone", number % 2 == 0 ? "a" : "b"}};
  n.capacity = {{"gpu", luck_.between(2, 8) * 1000}};
  if (plenty_) {
    n.capacity["cpu"] = 64'000;
    n.capacity["pods"] = 110;
  }
  return n;
}

workload client::draw_workload(std::size_t number) {
  workload w;
  w.name = fmt::format("w{}", number);
  w.resource_group = groups_[luck_.below(groups_.size())].name;
  if (groups_.back().name == counted_group && luck_.one_in(2))
    w.resource_group = counted_group;
  if (!queues_.empty() && !luck_.one_in(3))
    w.queue = queues_[luck_.below(queues_.size())].name;
  w.priority = static_cast<std::int32_t>(luck_.between(0, 9));
  w.kind = luck_.one_in(3) ? workload_kind::deployment : workload_kind::batch;
  if (w.resource_group == counted_group)
    return draw_deployment(std::move(w));
  w.resume.policy = luck_.one_in(2) ? resume_policy::always : resume_policy::by_kind;
  w.resume.backoff = std::chrono::seconds{1};
  w.grace_period = std::chrono::seconds{luck_.between(0, 2)};
  auto& group = w.groups.emplace_back();
  group.name = "g";
  group.count = static_cast<std::int32_t>(luck_.between(1, 4));
  if (luck_.one_in(2)) {
    group.min_count = static_cast<std::int32_t>(luck_.between(1, group.count));
    if (luck_.one_in(2))
      group.disruption = disruption_mode::pod_group;
    if (luck_.one_in(4))
      group.topology_keys = {"zone"};
  }
  group.pods.requests = {{"gpu", luck_.between(1, 4) * 1000}};
  if (plenty_)
    group.pods.requests["cpu"] = 1000;
  group.pods.labels = {{"app", luck_.one_in(2) ? "x" : "y"}};
  if (luck_.one_in(2))
    group.pods.annotations["simulation/run-for"] = fmt::format("{}s", luck_.between(1, 20));
  group.pods.annotations["simulation/stop-takes"] = fmt::format("{}ms", luck_.between(0, 3000));
  if (luck_.one_in(mood_ == mood::crowded ? 3 : 10))
    group.pods.annotations["simulation/stuck-for"] = fmt::format("{}s", luck_.between(20, 80));
  else if (mood_ == mood::crowded)
    draw_rank(w);
  return w;
}

/// Many of little worth, of whom some take their time, and few that take the room of several.
void client::draw_rank(workload& w) {
  auto& group = w.groups.front();
  if (luck_.one_in(3)) {
    w.priority = 9;
    group.count = 1;
    group.min_count.reset();
    group.pods.requests["gpu"] = luck_.between(3, 6) * 1000;
    return;
  }
  w.priority = static_cast<std::int32_t>(luck_.between(0, 1));
  w.resume.policy = resume_policy::always;
  group.pods.requests["gpu"] = 1000;
  group.pods.annotations.erase("simulation/run-for");
  group.pods.annotations["simulation/stop-takes"] =
    fmt::format("{}ms", luck_.one_in(2) ? luck_.between(4'000, 15'000) : luck_.between(0, 300));
}

/// Whose replicas the cluster counts.
workload client::draw_deployment(workload w) {
  w.kind = workload_kind::deployment;
  w.grace_period = std::chrono::seconds{luck_.between(0, 5)};
  auto& group = w.groups.emplace_back();
  group.name = "g";
  group.count = static_cast<std::int32_t>(luck_.between(1, 4));
  group.pods.requests = {{"gpu", luck_.between(1, 3) * 1000}};
  if (plenty_)
    group.pods.requests["cpu"] = 1000;
  group.pods.labels = {{"app", luck_.one_in(2) ? "x" : "y"}};
  group.pods.annotations["simulation/stop-takes"] = luck_.one_in(3)
                                                      ? fmt::format("{}s", luck_.between(5, 60))
                                                      : fmt::format("{}ms", luck_.between(0, 3000));
  return w;
}

bool client::is_asked(const std::string& name) const {
  for (const auto& one : asked_)
    if (one.name == name)
      return true;
  return false;
}

/// The catalog first: a resource group is served a moment after it is there.
std::string client::set_up(member& through) {
  if (!has_catalog_) {
    std::vector<object> objects(groups_.begin(), groups_.end());
    objects.insert(objects.end(), queues_.begin(), queues_.end());
    return ask(through, cluster_name, std::move(objects), [this] { has_catalog_ = true; });
  }
  std::vector<object> objects(nodes_.begin(), nodes_.end());
  objects.insert(objects.end(), budgets_.begin(), budgets_.end());
  return ask(through, cluster_name, std::move(objects), [this] { ready_ = true; });
}

std::string client::act(member& through) {
  if (!ready_)
    return is_asked(cluster_name) ? "" : set_up(through);
  if (luck_.one_in(12))
    return ask_for_a_node(through);
  if (luck_.one_in(40))
    return ask_for_a_group(through);
  if (has_files_ && luck_.one_in(20))
    return ask_for_a_file(through);
  if (groups_.size() > 1 && luck_.one_in(6))
    return ask_for_the_same(through);
  if (!queues_.empty() && luck_.one_in(20))
    return ask_for_a_queue(through);
  const auto number = luck_.below(10);
  const auto name = fmt::format("w{}", number);
  if (is_asked(name))
    return {};
  const auto known = submitted_.find(name);
  if (known != submitted_.end() && luck_.one_in(2))
    return ask_to_delete_workload(through, name);
  auto wanted = known == submitted_.end() ? draw_workload(number) : known->second;
  if (known != submitted_.end())
    wanted.groups[0].count =
      std::max(wanted.groups[0].needed(), static_cast<std::int32_t>(luck_.between(1, 4)));
  submitted_[name] = wanted;
  facts_.asked(name, wanted);
  return ask(through, name, {wanted}, [this, wanted] { facts_.acknowledged(wanted); });
}

std::string client::change(member& through) {
  return !queues_.empty() && luck_.one_in(3) && ready_ ? ask_for_a_queue(through) : act(through);
}

void client::hear_machines(const std::vector<object>& objects) {
  for (const auto& one : objects)
    if (std::holds_alternative<node>(one))
      of_stories_.insert(name_of(one));
}

std::string client::submit(member& through, const std::vector<workload>& wanted,
                           std::vector<object> beside) {
  hear_machines(beside);
  for (const auto& one : wanted) {
    submitted_[one.name] = one;
    facts_.asked(one.name, one);
    beside.emplace_back(one);
  }
  return ask(through, wanted.front().name, std::move(beside), [this, wanted] {
    for (const auto& one : wanted)
      facts_.acknowledged(one);
  });
}

std::string client::put(member& through, std::vector<object> objects) {
  hear_machines(objects);
  auto name = name_of(objects.front());
  return ask(through, std::move(name), std::move(objects), [] {});
}

std::string client::take_away(member& through, const std::vector<std::string>& workloads) {
  std::string what;
  for (const auto& name : workloads)
    what += (what.empty() ? "" : ", ") + ask_to_delete_workload(through, name);
  return what;
}

std::string client::take_away(member& through, object_kind kind, const std::string& name,
                              bool force) {
  of_stories_.erase(name);
  return ask_to_delete(
    through, kind, name, [] {}, force);
}

std::string client::ask(member& through, std::string name, std::vector<object> objects,
                        std::function<void()> acknowledged) {
  auto answer = std::make_shared<std::optional<absl::Status>>();
  through.world().system().spawn(
    [to = through.gateway(), answer,
     wanted = apply_request{std::move(objects), false}](caf::event_based_actor* self) {
      self->request(to, caf::infinite, wanted)
        .then([answer](apply_result& result) { *answer = result.status(); },
              [answer](caf::error& error) { *answer = to_status(error); });
    });
  auto what = fmt::format("apply {} through {}", name, through.generation());
  asked_.push_back(
    {through.generation(), std::move(name), std::move(answer), std::move(acknowledged)});
  return what;
}

std::string client::ask_to_delete(member& through, object_kind kind, const std::string& name,
                                  std::function<void()> acknowledged, bool force) {
  auto answer = std::make_shared<std::optional<absl::Status>>();
  through.world().system().spawn(
    [to = through.gateway(), answer,
     wanted = delete_request{kind, {name}, {}, force}](caf::event_based_actor* self) {
      self->request(to, caf::infinite, wanted)
        .then([answer](absl::Status& result) { *answer = result; },
              [answer](caf::error& error) { *answer = to_status(error); });
    });
  asked_.push_back({through.generation(), name, std::move(answer), std::move(acknowledged)});
  return fmt::format("delete {} through {}", name, through.generation());
}

std::string client::ask_to_delete_workload(member& through, const std::string& name) {
  facts_.asked(name, std::nullopt);
  submitted_.erase(name);
  return ask_to_delete(through, object_kind::workload, name,
                       [this, name] { facts_.acknowledged_deletion(name); });
}

/// Several things that say the same, which are of several shards. Nothing depends on them.
std::string client::ask_for_a_file(member& through) {
  constexpr const char* name = "file";
  if (is_asked(name))
    return {};
  ++last_file_;
  std::vector<object> objects;
  for (int i = 0; i < truth::objects_in_a_file; ++i) {
    disruption_budget one;
    one.name = fmt::format("{}{}", truth::of_a_file, i);
    one.match_labels = {{"app", "nobody"}};
    one.min_available = last_file_;
    objects.emplace_back(one);
  }
  return ask(through, name, std::move(objects), [] {});
}

/// Several people want a thing of the same name, each in a resource group of their own, and ask
/// without waiting for each other. Nothing depends on it.
std::string client::ask_for_the_same(member& through) {
  disruption_budget wanted;
  wanted.name = "same";
  if (luck_.one_in(3))
    return ask_to_delete(through, object_kind::disruption_budget, wanted.name, [] {});
  wanted.resource_group = groups_[luck_.below(groups_.size())].name;
  wanted.match_labels = {{"app", "nobody"}};
  wanted.min_available = 1;
  return ask(through, wanted.name, {wanted}, [] {});
}

void client::listen() {
  for (auto one = asked_.begin(); one != asked_.end();) {
    if (!one->answer->has_value()) {
      ++one;
      continue;
    }
    const auto& answer = **one->answer;
    if (answer.ok())
      one->acknowledged();
    else if (tells_nothing(answer))
      facts_.not_told(one->name);
    else
      facts_.refused(one->name);
    one = asked_.erase(one);
  }
}

void client::lost(int generation) {
  for (auto one = asked_.begin(); one != asked_.end();)
    if (one->generation == generation) {
      facts_.not_told(one->name);
      one = asked_.erase(one);
    } else {
      ++one;
    }
}

} // namespace reprieve::simulation
