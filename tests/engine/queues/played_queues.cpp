#include "tests/engine/queues/played_queues.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace reprieve::tests {

namespace {

using std::chrono::seconds;

} // namespace

played_queues::played_queues(std::uint64_t seed) : luck_(seed) {
  for (auto left = luck_.between(1, 5); left > 0; --left) {
    node n;
    n.name = fmt::format("n{}", left);
    n.capacity = {{"cpu", 1000 * luck_.between(4, 16)}, {"gpu", 1000 * luck_.between(2, 8)}};
    nodes_[n.name] = std::move(n);
  }
  queues_["default"].name = "default";
  queues_["default"].cap_by_demand = true;
  const auto count = luck_.between(1, 6);
  for (std::int64_t i = 0; i < count; ++i)
    draw_queue(fmt::format("q{}", i));
  for (auto left = luck_.between(3, 14); left > 0; --left)
    submit(draw_work());
}

void played_queues::draw_queue(const std::string& name) {
  const bool fresh = !queues_.contains(name);
  auto& q = queues_[name];
  if (fresh) {
    q.name = name;
    if (queues_.size() > 2 && luck_.one_in(2))
      q.parent =
        std::next(queues_.begin(), 1 + static_cast<std::ptrdiff_t>(luck_.below(queues_.size() - 2)))
          ->first;
    q.cap_by_demand = !luck_.one_in(3);
  }
  q.weight = luck_.between(1, 5);
  const auto children =
    std::ranges::any_of(queues_, [&](const auto& one) { return one.second.parent == name; });
  q.limit.clear();
  if (luck_.one_in(3) && !children)
    q.limit["gpu"] = std::max(amount_of(q.guaranteed, "gpu"), 1000 * luck_.between(1, 16));
  if (fresh && luck_.one_in(4) && q.limit.empty()
      && (q.parent.empty() || queues_[q.parent].limit.empty()))
    q.guaranteed["gpu"] = 1000 * luck_.between(1, 4);
  if (fresh && !q.parent.empty()) {
    queues_[q.parent].limit.clear();
    queues_[q.parent].guaranteed.clear();
  }
}

workload played_queues::draw_work() {
  workload w;
  w.name = fmt::format("w{}", ++named_);
  w.queue =
    std::next(queues_.begin(), static_cast<std::ptrdiff_t>(luck_.below(queues_.size())))->first;
  w.priority = static_cast<std::int32_t>(luck_.between(0, 3));
  constexpr workload_kind kinds[] = {workload_kind::batch, workload_kind::inference,
                                     workload_kind::interactive, workload_kind::deployment};
  w.kind = kinds[luck_.below(std::size(kinds))];
  w.autoscaled = luck_.one_in(2);
  w.checkpoint.supported = luck_.one_in(2);
  w.resume.policy = static_cast<resume_policy>(luck_.below(3));
  w.resume.backoff = seconds{luck_.between(0, 60)};
  w.resume.limit = static_cast<std::int32_t>(luck_.between(1, 10));
  w.grace_period = seconds{luck_.between(0, 30)};
  auto& group = w.groups.emplace_back();
  group.name = "g";
  group.count = static_cast<std::int32_t>(luck_.between(1, 4));
  group.pods.requests = {{"gpu", 1000 * luck_.between(1, 4)}, {"cpu", 1000 * luck_.between(0, 3)}};
  if (luck_.one_in(2)) {
    group.min_count =
      luck_.one_in(3) ? static_cast<std::int32_t>(luck_.between(1, group.count)) : group.count;
    if (luck_.one_in(2))
      group.disruption = disruption_mode::pod_group;
  }
  return w;
}

void played_queues::submit(workload w) {
  workload_record record;
  record.status.uid = "u-" + w.name;
  record.status.generation = 1;
  record.status.submitted = now_ + seconds{named_};
  record.status.resolved = {*w.priority, *w.priority, true};
  record.status.by_group.assign(w.groups.size(), record.status.resolved);
  const auto name = w.name;
  record.spec = std::move(w);
  records_[name] = std::move(record);
}

void played_queues::change() {
  const auto kind = luck_.below(4);
  if (kind < 2) {
    const auto chosen =
      std::next(queues_.begin(), static_cast<std::ptrdiff_t>(luck_.below(queues_.size())))->first;
    if (chosen != "default")
      draw_queue(chosen);
  } else if (kind == 2 && !records_.empty()) {
    const auto gone =
      std::next(records_.begin(), static_cast<std::ptrdiff_t>(luck_.below(records_.size())));
    std::erase_if(pods_, [&](const pod& p) { return p.workload == gone->first; });
    records_.erase(gone);
    std::erase_if(open_, [&](const auto& one) {
      return std::ranges::none_of(pods_, [&](const pod& p) {
        return p.phase == pod_phase::nominated && p.placed_by == one.first;
      });
    });
  } else {
    submit(draw_work());
  }
}

snapshot played_queues::taken() const {
  std::vector<snapshot::entry> entries;
  for (const auto& [name, one] : nodes_)
    entries.push_back({one, {}, {}});
  for (const auto& [name, one] : queues_) {
    const auto* status = find(standing_, name);
    entries.push_back({one, status == nullptr ? object_status{} : object_status{*status}, {}});
  }
  for (const auto& [name, one] : records_)
    entries.push_back({*one.spec, course_of(one), {}});
  const pod_manifest_fields all{true, true, true, true, true, true};
  for (const auto& p : pods_)
    entries.push_back({p, {}, all});
  auto made = snapshot::of(std::move(entries));
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

void played_queues::stop(const std::vector<victim>& victims, const std::string& id,
                         const std::string& in_favour_of, const std::string& policy) {
  for (const auto& one : victims) {
    evictions_.push_back({now_, to_string(one.portion), in_favour_of, policy});
    evict(records_.at(one.portion.workload), std::span{&one.portion, 1}, id, now_);
    for (auto& p : pods_)
      if (std::ranges::find(one.pods, p.uid, &victim_pod::uid) != one.pods.end()) {
        p.evicted_by = id;
        p.stop_told = now_;
        p.phase = pod_phase::terminating;
      }
  }
}

void played_queues::carry_out(const snapshot_cycle& cycle) {
  for (const auto& one : cycle.taken_back())
    stop(one.from.victims, fmt::format("d{}", ++decided_), "", "queues");
  for (const auto& turn : cycle.turns()) {
    const auto id = fmt::format("d{}", ++decided_);
    for (const auto& one : turn.gives_up) {
      in_vain_ += open_[one.decision] ? 1 : 0;
      open_.erase(one.decision);
      std::erase_if(pods_, [&](const pod& p) {
        return p.phase == pod_phase::nominated && p.placed_by == one.decision;
      });
    }
    stop(turn.made.victims, id, turn.who.workload, turn.made.policy);
    for (const auto& one : turn.made.assignments) {
      auto placed = one.placed;
      placed.placed_by = id;
      placed.created = now_;
      pods_.push_back(std::move(placed));
      open_[id] = !turn.made.victims.empty();
    }
  }
}

bool played_queues::run_cycle() {
  const auto state = taken();
  plan_settings settings;
  settings.group.name = "default";
  settings.now = now_;
  snapshot_cycle cycle{state};
  cycle.run(settings);
  standing_ = statuses_of(cycle.queues().at("default"));
  const auto before = decided_;
  carry_out(cycle);
  return !cycle.taken_back().empty()
         || std::ranges::any_of(
           cycle.turns(), [](const turn_taken& turn) { return !turn.made.assignments.empty(); })
         || decided_ < before;
}

/// Whether all that the decision places fits beside those who are there, leave, or came before it.
bool played_queues::has_room(const std::string& id) const {
  std::map<std::string, resources> taken;
  std::set<std::string> on;
  for (const auto& p : pods_)
    if (p.phase != pod_phase::nominated || p.placed_by == id) {
      for (const auto& [name, amount] : p.requests)
        taken[p.node][name] += amount;
      if (p.placed_by == id)
        on.insert(p.node);
    }
  return std::ranges::all_of(on, [&](const std::string& name) {
    return std::ranges::all_of(taken[name], [&](const auto& one) {
      return one.second <= amount_of(nodes_.at(name).capacity, one.first);
    });
  });
}

bool played_queues::start_what_has_room() {
  bool any = false;
  for (auto one = open_.begin(); one != open_.end();) {
    if (!has_room(one->first)) {
      ++one;
      continue;
    }
    for (auto& p : pods_)
      if (p.phase == pod_phase::nominated && p.placed_by == one->first) {
        p.phase = pod_phase::running;
        p.started = now_;
      }
    one = open_.erase(one);
    any = true;
  }
  return any;
}

/// Half of its grace period is what a pod takes to stop.
void played_queues::let_go() {
  std::erase_if(pods_, [&](const pod& p) {
    return p.phase == pod_phase::terminating && p.stop_told + p.grace_period / 2 <= now_;
  });
}

time_point played_queues::next_event() const {
  auto next = time_point::max();
  for (const auto& p : pods_)
    if (p.phase == pod_phase::terminating)
      next = std::min(next, p.stop_told + p.grace_period / 2);
  for (const auto& [name, one] : records_)
    if (one.status.resume_after > now_)
      next = std::min(next, one.status.resume_after);
  return next;
}

void played_queues::play(duration time) {
  const auto end = now_ + time;
  constexpr int most = 200; // cycles at one moment
  while (true) {
    int cycles = 0;
    do {
      let_go();
      start_what_has_room();
    } while (run_cycle() && ++cycles < most);
    if (cycles == most) {
      ADD_FAILURE() << "cycles do not come to an end at one moment";
      return;
    }
    const auto next = std::max(next_event(), now_ + std::chrono::milliseconds{1});
    if (next > end)
      break;
    now_ = next;
  }
  now_ = end;
}

std::string played_queues::story() const {
  std::string text;
  for (const auto& [name, q] : queues_) {
    text += fmt::format("queue {} below '{}' weight {}{}", name, q.parent, q.weight,
                        q.cap_by_demand ? " capped" : "");
    for (const auto& [resource, amount] : q.limit)
      text += fmt::format(" limit {} {}", resource, amount);
    for (const auto& [resource, amount] : q.guaranteed)
      text += fmt::format(" guaranteed {} {}", resource, amount);
    text += "\n";
  }
  for (const auto& [name, n] : nodes_)
    text += fmt::format("node {} gpu {} cpu {}\n", name, amount_of(n.capacity, "gpu"),
                        amount_of(n.capacity, "cpu"));
  for (const auto& [name, one] : records_) {
    const auto& group = one.spec->groups.front();
    text += fmt::format(
      "workload {} queue {} priority {} {}x gpu {} cpu {}{}{} has {}\n", name, one.spec->queue,
      one.status.resolved.priority, group.count, amount_of(group.pods.requests, "gpu"),
      amount_of(group.pods.requests, "cpu"), group.is_gang() ? " gang" : "",
      group.disruption == disruption_mode::pod_group ? " whole" : "",
      std::ranges::count_if(pods_, [&, &of = name](const pod& p) { return p.workload == of; }));
  }
  for (const auto& one : evictions_)
    text += fmt::format("{} s: {} goes for '{}' ({})\n",
                        std::chrono::duration_cast<seconds>(one.at.time_since_epoch()).count(),
                        one.portion, one.in_favour_of, one.policy);
  return text;
}

} // namespace reprieve::tests
