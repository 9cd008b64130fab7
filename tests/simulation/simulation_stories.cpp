#include "tests/simulation/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

// Stories: chains of things that random steps hardly ever come to, each with a resource of its own,
// so that nobody else takes part. Nothing fails in them but what the story is about.

namespace reprieve::simulation {

namespace {

/// One or more pods of a story.
workload part_of_story(std::string name, const std::string& group, const std::string& resource,
                       std::int64_t each = 1, std::int32_t pods = 1) {
  workload w;
  w.name = std::move(name);
  w.resource_group = group;
  w.kind = workload_kind::batch;
  w.resume.policy = resume_policy::always;
  w.resume.backoff = std::chrono::seconds{1};
  w.grace_period = std::chrono::seconds{90};
  auto& one = w.groups.emplace_back();
  one.name = "g";
  one.count = pods;
  one.pods.requests = {{resource, each * 1000}};
  one.pods.annotations["simulation/stop-takes"] = "0ms";
  return w;
}

workload important(workload w) {
  w.priority = 9;
  return w;
}

workload stopping_within(workload w, std::int64_t milliseconds) {
  w.groups.front().pods.annotations["simulation/stop-takes"] = fmt::format("{}ms", milliseconds);
  return w;
}

node place_of_story(std::string name, const std::string& group, const std::string& resource,
                    std::int64_t amount) {
  node n;
  n.name = std::move(name);
  n.resource_group = group;
  n.capacity = {{resource, amount * 1000}};
  return n;
}

} // namespace

void simulation::tell(const std::function<std::string(member&)>& ask, duration then) {
  if (auto* one = newest_live(); one != nullptr && facts_.broken().empty())
    log("people: " + ask(*one));
  settle(then);
}

/// Handles one thing after the other until it is enough, or so much time has passed; time passes
/// in between, whatever waits.
void simulation::move_until(duration longest, const std::function<bool()>& enough) {
  const auto until = elapsed_ + longest;
  while (elapsed_ < until && facts_.broken().empty() && !enough()) {
    ++steps_;
    const bool waits = luck_.one_in(10);
    const bool store_first = luck_.one_in(4);
    if (waits
        || (!(store_first && move_store()) && !move_letter() && !handle_message() && !move_store()))
      pass(std::chrono::milliseconds{luck_.between(1, 20)});
  }
}

/// How many of its pods node records have; those alone that nobody has to make room for any more.
std::size_t simulation::standing_of(std::string_view workload, bool bound) const {
  std::size_t found = 0;
  for (const auto& [name, record] : facts_.nodes())
    for (const auto& p : record.pods)
      if (p.workload == workload && (!bound || p.phase != pod_phase::nominated))
        ++found;
  return found;
}

bool simulation::is_quota_written() const {
  return std::ranges::any_of(members_, [](const auto& one) {
    return one->is_live() && one->connection().is_slow_with("/quota/");
  });
}

void simulation::tell_stories() {
  if (shape_.now == mood::crowded)
    tell_of_returns();
  // Where queues share, others may keep a part of the room for themselves.
  if (shape_.batches.operations < batch_limits{}.operations && !people_.has_queues())
    tell_of_a_torn_gang();
  if (shape_.now == mood::sharing)
    tell_of_a_moving_limit();
  if (shape_.now == mood::plain)
    tell_of_a_late_commit();
  if (facts_.resource_groups().contains(counted_group) && !people_.has_queues())
    tell_of_a_lost_pier();
}

/// Two leave for one who is more important, one of them slowly; the other comes back elsewhere
/// meanwhile, has to leave again, and comes back once more. Those who decide begin anew while all
/// of that goes on.
void simulation::tell_of_returns() {
  const auto group = people_.groups().front().name;
  const std::string resource = "story";
  const auto while_passing = [this](std::int64_t least, std::int64_t most) {
    return std::chrono::milliseconds{luck_.between(least, most)};
  };
  const auto quick =
    stopping_within(part_of_story("quick", group, resource), luck_.between(0, 500));
  const auto slow =
    stopping_within(part_of_story("slow", group, resource), luck_.between(40'000, 80'000));
  tell(
    [&](member& by) {
      return people_.submit(by, {quick, slow}, {place_of_story("stage", group, resource, 2)});
    },
    while_passing(5'000, 10'000));
  tell(
    [&](member& by) {
      return people_.submit(by, {important(part_of_story("star", group, resource, 2))});
    },
    while_passing(500, 3'000));
  tell([&](member& by) { return people_.put(by, {place_of_story("wings", group, resource, 1)}); },
       while_passing(3'000, 5'000));
  tell(
    [&](member& by) {
      return people_.submit(by, {important(part_of_story("guest", group, resource))});
    },
    while_passing(1'000, 3'000));
  tell([&](member& by) { return people_.put(by, {place_of_story("foyer", group, resource, 1)}); },
       while_passing(4'000, 8'000));
  for (int ends = 0; ends < 3; ++ends) {
    if (auto* one = newest_live(); one != nullptr && facts_.broken().empty())
      log(fmt::format("process {} loses {}", one->generation(), one->lose_an_actor(luck_, true)));
    settle(while_passing(1'000, 15'000));
  }
  settle(std::chrono::seconds{120});
  if (facts_.broken().empty())
    check_rest();
  tell(
    [&](member& by) {
      return people_.take_away(by, {"quick", "slow", "guest", "star"});
    },
    while_passing(60'000, 90'000));
}

/// A gang whose places are written one after the other, as no transaction takes them all: whoever
/// writes them dies in between.
void simulation::tell_of_a_torn_gang() {
  constexpr std::int32_t members = 16;
  const auto group = people_.groups().front().name;
  const std::string resource = "seat";
  auto gang = part_of_story("choir", group, resource, 1, members);
  gang.groups.front().min_count = members;
  std::vector<object> seats;
  for (int i = 0; i < members; ++i)
    seats.emplace_back(place_of_story(fmt::format("seat{}", i), group, resource, 1));
  tell([&](member& by) { return people_.put(by, seats); }, std::chrono::seconds{5});
  tell([&](member& by) { return people_.submit(by, {gang}); }, duration{0});
  const bool bound = luck_.one_in(2);
  const auto enough = static_cast<std::size_t>(luck_.between(1, members - 1));
  move_until(std::chrono::seconds{20}, [&] { return standing_of("choir", bound) >= enough; });
  for (auto* one : those(member::state::live)) {
    log(fmt::format("process {} crashes", one->generation()));
    lose(*one, false);
  }
  settle(std::chrono::seconds{60});
  if (facts_.broken().empty())
    check_rest();
  if (const auto there = standing_of("choir", true); facts_.broken().empty() && there != members)
    facts_.complain(fmt::format("{} of the {} members of gang choir run{}", there, members,
                                facts_.text_of_nodes()));
  tell([&](member& by) { return people_.take_away(by, {"choir"}); }, std::chrono::seconds{30});
  for (int i = 0; i < members; ++i)
    tell(
      [&](member& by) {
        return people_.take_away(by, object_kind::node, fmt::format("seat{}", i));
      },
      std::chrono::milliseconds{200});
}

/// A limit moves from one resource group to another, and the one that gives it up decides anew
/// while that is being written down, and has use for it again.
void simulation::tell_of_a_moving_limit() {
  constexpr std::int32_t limit = 4;
  constexpr std::int32_t plenty = 100; // whatever other queues keep of it
  const std::string queue_name = "tickets";
  const std::string resource = "ticket";
  // What both ask for goes to the first by name.
  const auto* const taker = "default";
  const auto* const giver = "other";
  queue shared;
  shared.name = queue_name;
  shared.cap_by_demand = true;
  shared.limit = {{resource, limit * 1000}};
  const auto in_queue = [&](const char* name, const char* group) {
    auto w = part_of_story(name, group, resource, 1, limit);
    w.queue = queue_name;
    return w;
  };
  tell(
    [&](member& by) {
      return people_.put(by, {shared, place_of_story("box", giver, resource, plenty),
                              place_of_story("stalls", taker, resource, plenty)});
    },
    std::chrono::seconds{5});
  tell([&](member& by) { return people_.submit(by, {in_queue("before", giver)}); },
       std::chrono::seconds{15});
  tell([&](member& by) { return people_.take_away(by, {"before"}); }, std::chrono::seconds{10});
  for (auto* one : those(member::state::live))
    one->connection().slow_down("/quota/", std::chrono::seconds{10});
  tell([&](member& by) { return people_.submit(by, {in_queue("taking", taker)}); }, duration{0});
  move_until(std::chrono::seconds{20}, [&] { return is_quota_written(); });
  for (auto* one : those(member::state::live))
    one->lose_coordinator(giver);
  log(fmt::format("who decides for {} begins anew", giver));
  const auto until = steps_ + static_cast<std::size_t>(luck_.between(1, 150));
  move_until(std::chrono::seconds{9}, [&] { return steps_ >= until; });
  for (auto* one : those(member::state::live))
    one->connection().hurry();
  move_until(std::chrono::milliseconds{luck_.between(0, 2'000)}, [] { return false; });
  tell([&](member& by) { return people_.submit(by, {in_queue("again", giver)}); }, duration{0});
  move_until(std::chrono::seconds{3}, [] { return false; });
  settle(std::chrono::seconds{50});
  if (facts_.broken().empty())
    check_rest();
  tell(
    [&](member& by) {
      return people_.take_away(by, {"taking", "again"});
    },
    std::chrono::seconds{30});
  for (const auto* name : {"box", "stalls"})
    tell([&](member& by) { return people_.take_away(by, object_kind::node, name); },
         std::chrono::seconds{1});
  tell([&](member& by) { return people_.take_away(by, object_kind::queue, queue_name); },
       std::chrono::seconds{10});
}

/// A commit hangs in the store until long after its decision was given up for it.
void simulation::tell_of_a_late_commit() {
  const auto group = people_.groups().front().name;
  const std::string resource = "letter";
  tell([&](member& by) { return people_.put(by, {place_of_story("box", group, resource, 100)}); },
       std::chrono::seconds{3});
  for (auto* one : those(member::state::live))
    one->connection().hang_next(" d/open/", std::chrono::seconds{luck_.between(5, 60)});
  tell([&](member& by) { return people_.submit(by, {part_of_story("sender", group, resource)}); },
       std::chrono::seconds{luck_.between(60, 120)});
  if (facts_.broken().empty())
    check_rest();
  tell([&](member& by) { return people_.take_away(by, {"sender"}); }, std::chrono::seconds{10});
  tell([&](member& by) { return people_.take_away(by, object_kind::node, "box"); },
       std::chrono::seconds{1});
}

/// Replicas that the cluster counts are lost with their machine, which is silent or is deleted by
/// force: those that are well stay, and others come where there is room.
void simulation::tell_of_a_lost_pier() {
  constexpr std::int64_t berths = 4;
  const std::string resource = "berth";
  auto ferries = part_of_story("ferries", counted_group, resource, 1, berths + 2);
  ferries.kind = workload_kind::deployment;
  ferries.resume = {};
  const auto put = [&](const char* name) {
    tell(
      [&](member& by) {
        return people_.put(by, {place_of_story(name, counted_group, resource, berths)});
      },
      std::chrono::seconds{10});
  };
  put("pier");
  tell([&](member& by) { return people_.submit(by, {ferries}); }, std::chrono::seconds{10});
  put("quay");
  const auto at_quay = [&] {
    std::set<std::string> found;
    if (const auto quay = facts_.nodes().find("quay"); quay != facts_.nodes().end())
      for (const auto& p : quay->second.pods)
        if (p.stop_told == no_time)
          found.insert(p.uid);
    return found;
  };
  const auto well = at_quay();
  const bool silent = people_.has_agents() && luck_.one_in(2);
  tell(
    [&](member& by) {
      return silent ? people_.silence("pier")
                    : people_.take_away(by, object_kind::node, "pier", true);
    },
    std::chrono::seconds{90});
  if (const auto now = at_quay();
      facts_.broken().empty() && (std::ssize(now) != berths || !std::ranges::includes(now, well)))
    facts_.complain(fmt::format("{} of {} ferries are at the quay, where {} were before{}",
                                now.size(), berths, well.size(), facts_.text_of_nodes()));
  people_.wake_all();
  settle(std::chrono::seconds{silent ? 60 : 1});
  if (facts_.broken().empty())
    check_rest();
  tell([&](member& by) { return people_.take_away(by, {"ferries"}); }, std::chrono::seconds{10});
  for (const auto* name : {"pier", "quay"})
    tell([&](member& by) { return people_.take_away(by, object_kind::node, name); },
         std::chrono::seconds{1});
}

} // namespace reprieve::simulation
