#include "actors/queue_stage_runner.hpp"

#include "state/keys.hpp"
#include "state/queue_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

namespace reprieve {

namespace {

using self_pointer = queue_shard_pointer;

/// Long enough for a burst of reports to share a run.
constexpr std::chrono::milliseconds gathering_time{2};
constexpr std::chrono::seconds retry_delay{1};

/// Every resource group has told what it has, as far as anybody runs it.
bool knows_enough(const queue_shard_state& state) {
  return !state.groups.empty() && std::ranges::all_of(state.known->groups, [&](const auto& one) {
    const auto found = state.groups.find(one.first);
    return found != state.groups.end() && found->second.has_told;
  });
}

/// How the queues stood. One that was never in the stage has what it uses.
by_name<queue_status> previous_of(const queue_shard_state& state, const queue_stage_input& in) {
  by_name<queue_status> previous;
  for (const auto& [name, record] : state.newest_quota)
    previous[name] = {{}, record.allocated, {}, record.preempting};
  for (const auto& [name, totals] : in.totals)
    if (!state.newest_quota.contains(name))
      for (const queue* at = find(in.queues, name); at != nullptr;
           at = find(in.queues, at->parent)) {
        add_to(previous[at->name].allocated, totals.staying);
        add_to(previous[at->name].allocated, totals.leaving);
      }
  return previous;
}

queue_stage_input input_of(self_pointer self) {
  const auto& state = self->state;
  queue_stage_input in;
  in.queues = state.known->queues;
  in.now = state.clock.now(self);
  for (const auto& [group, settings] : state.known->groups)
    in.limits[group] = settings.limits;
  for (const auto& [group, one] : state.groups) {
    add_to(in.capacity, one.told.capacity);
    for (const auto& [queue, need] : one.told.queues) {
      add_to(in.totals[queue].staying, need.used.staying);
      add_to(in.totals[queue].leaving, need.used.leaving);
      add_to(in.pending[queue], need.pending);
    }
  }
  in.previous = previous_of(state, in);
  return in;
}

/// The queues whose pods have to be looked at one by one.
std::vector<std::string> queues_to_choose_from(const queue_stage_result& result) {
  std::set<std::string> names;
  for (const auto& one : result.queues)
    for (const auto& line : one.lines)
      if (line.to_free > 0)
        names.insert(one.queue);
  return {names.begin(), names.end()};
}

bool lacks_victims(const queue_stage_result& result) {
  return std::ranges::any_of(result.queues, [](const queue_outcome& one) {
    return std::ranges::any_of(one.lines,
                               [](const queue_line& line) { return line.not_freed > 0; });
  });
}

/// What the victims of one queue have to free, in words.
std::string summary_of(const queue_outcome& of) {
  std::string amounts;
  for (const auto& line : of.lines)
    if (line.to_free > 0)
      amounts += fmt::format("{}{}: {}", amounts.empty() ? "" : "; ", line.resource, line.reason);
  return fmt::format("queue {} gives back what it uses ({})", of.queue, amounts);
}

/// Hands the victims to the groups they run in.
void order_reclaims(self_pointer self, const queue_stage_result& result,
                    const by_name<std::string>& group_of_pod) {
  for (const auto& one : result.queues) {
    by_name<reclaim> orders;
    for (const auto& chosen : one.victims) {
      const auto* group = find(group_of_pod, chosen.pods.front().uid);
      auto& order = orders[group == nullptr ? std::string{} : *group];
      order.queue = one.queue;
      order.victims.push_back(chosen);
    }
    for (auto& [group, order] : orders) {
      order.why.summary = summary_of(one);
      order.why.reprieved = one.reprieved;
      order.why.passed_over = one.passed_over;
      if (const auto found = self->state.groups.find(group); found != self->state.groups.end())
        self->send(found->second.holder, std::move(order));
    }
  }
}

/// Makes these queues' newest records durable, then goes on.
template <class F>
void write_quota(self_pointer self, const std::set<std::string>& queues, F then) {
  auto& state = self->state;
  std::vector<ledger_entry> writes;
  by_name<std::optional<quota_record>> written;
  for (const auto& name : queues) {
    const auto* record = find(state.newest_quota, name);
    writes.push_back(write_of(keys::quota(state.tree, name), record));
    written[name] = record == nullptr ? std::nullopt : std::optional{*record};
  }
  write_then(self, std::move(writes), [self, written = std::move(written), then]() mutable {
    for (auto& [name, record] : written)
      if (record)
        self->state.quota[name] = *std::move(record);
      else
        self->state.quota.erase(name);
    then();
  });
}

/// Asks a group to do with less; what it agrees to is written down, and then others may have it.
void ask_to_lower(self_pointer self, const std::string& group, by_name<resources> to) {
  auto& one = self->state.groups[group];
  if (std::exchange(one.lowering, true))
    return;
  self->request(one.holder, answer_time, lower_grants{std::move(to)})
    .then(
      [self, group, holder = one.holders](const quota_grants& kept) {
        auto& state = self->state;
        auto& asked = state.groups[group];
        if (asked.holders != holder)
          return;
        asked.lowering = false;
        std::set<std::string> lowered;
        for (const auto& [queue, amounts] : kept.queues)
          if (const auto record = state.newest_quota.find(queue);
              record != state.newest_quota.end()) {
            for (const auto& [resource, amount] : amounts)
              record->second.grants[group][resource] = amount;
            lowered.insert(queue);
          }
        write_quota(self, lowered, [self] { stage_is_due(self); });
      },
      [self, group, holder = one.holders](caf::error&) {
        if (auto& asked = self->state.groups[group]; asked.holders == holder)
          asked.lowering = false;
        self->delayed_send(self, retry_delay, run_stage{});
      });
}

/// What the stage comes to: new records where they differ, and who is to be told or asked.
class outcome {
public:
  outcome(self_pointer self, queue_stage_result result, by_name<std::string> group_of_pod)
      : self_(self), result_(std::move(result)), group_of_pod_(std::move(group_of_pod)) {}

  void carry_out() && {
    auto& state = self_->state;
    lend_unassigned(state.known->queues, result_);
    state.statuses = statuses_of(result_);
    const auto amounts = spendable(result_);
    for (const auto& [name, status] : state.statuses)
      renew(name, status, find(amounts, name));
    std::erase_if(state.newest_quota, [&](const auto& one) {
      const bool gone = !state.statuses.contains(one.first);
      if (gone)
        changed_.insert(one.first);
      return gone;
    });
    if (changed_.empty()) {
      finish();
      return;
    }
    const auto changed = std::exchange(changed_, {});
    const auto self = self_;
    write_quota(self, changed,
                [whole = std::make_shared<outcome>(std::move(*this))] { whole->finish(); });
  }

private:
  void renew(const std::string& queue, const queue_status& status, const resources* amounts) {
    auto& state = self_->state;
    by_name<quota_need> needs;
    for (const auto& [group, one] : state.groups) {
      const auto* need = find(one.told.queues, queue);
      needs[group] = need == nullptr ? quota_need{} : *need;
    }
    auto& record = state.newest_quota[queue];
    const auto shared =
      share_out(amounts == nullptr ? resources{} : *amounts, needs, record.grants);
    for (const auto& [group, lower] : shared.lower)
      lower_[group][queue] = lower;
    quota_record next{status.allocated, status.preempting, shared.granted};
    if (next == record)
      return;
    for (const auto& [group, granted] : next.grants)
      if (const auto* before = find(record.grants, group); before == nullptr || *before != granted)
        told_.insert(group);
    record = std::move(next);
    changed_.insert(queue);
  }

  /// All is durable.
  void finish() {
    for (const auto& group : told_)
      tell_grants(self_, group);
    order_reclaims(self_, result_, group_of_pod_);
    for (auto& [group, to] : lower_)
      ask_to_lower(self_, group, std::move(to));
    self_->state.stage_runs = false;
    if (self_->state.stage_due)
      self_->send(self_, run_stage{});
  }

  self_pointer self_;
  queue_stage_result result_;
  by_name<std::string> group_of_pod_;
  std::set<std::string> changed_;     ///< queues
  std::set<std::string> told_;        ///< groups
  by_name<by_name<resources>> lower_; ///< by group and queue
};

/// Pods of all groups, gathered one answer after the other.
struct gathered_pods {
  std::vector<std::string> queues;
  std::vector<queue_pod> pods;
  by_name<std::int32_t> preempted_lately;
  std::size_t open = 0;
  bool failed = false;
};

/// Whether time alone may make a victim of the pod: it is still being placed, or has not run for
/// long enough.
bool may_go_later(const queue_pod& p, const queue_stage_input& in) {
  const auto* limits = find(in.limits, p.resource_group);
  const auto least =
    std::max(p.minimum_runtime, limits == nullptr ? duration{0} : limits->minimum_runtime);
  return p.phase == pod_phase::nominated || p.phase == pod_phase::bound
         || in.now - p.started < least;
}

/// Runs the stage again, with the pods of the queues that have to give some.
void choose(self_pointer self, gathered_pods& found) {
  if (found.failed) {
    self->state.stage_runs = false;
    self->delayed_send(self, retry_delay, run_stage{});
    return;
  }
  auto in = input_of(self);
  for (const auto& queue : found.queues)
    in.totals.erase(queue);
  by_name<std::string> group_of_pod;
  for (const auto& p : found.pods)
    group_of_pod[p.uid] = p.resource_group;
  in.pods = std::move(found.pods);
  in.preempted_lately = std::move(found.preempted_lately);
  auto result = run_queue_stage(in);
  if (lacks_victims(result)
      && std::ranges::any_of(in.pods, [&](const auto& p) { return may_go_later(p, in); }))
    self->delayed_send(self, retry_delay, run_stage{});
  outcome{self, std::move(result), std::move(group_of_pod)}.carry_out();
}

void fetch_pods(self_pointer self, std::vector<std::string> queues) {
  auto all = std::make_shared<gathered_pods>();
  all->queues = std::move(queues);
  all->open = self->state.groups.size();
  const auto answered = [self, all] {
    if (--all->open == 0)
      choose(self, *all);
  };
  for (const auto& [group, one] : self->state.groups)
    self->request(one.holder, answer_time, read_queue_pods{all->queues})
      .then(
        [all, answered](queue_pods& there) {
          std::move(there.pods.begin(), there.pods.end(), std::back_inserter(all->pods));
          all->preempted_lately.merge(there.preempted_lately);
          answered();
        },
        [all, answered](caf::error&) {
          all->failed = true;
          answered();
        });
}

} // namespace

void stage_is_due(self_pointer self) {
  if (std::exchange(self->state.stage_due, true) || self->state.stage_runs)
    return;
  self->delayed_send(self, gathering_time, run_stage{});
}

void start_stage(self_pointer self) {
  auto& state = self->state;
  state.stage_due = false;
  if (state.stage_runs || !knows_enough(state))
    return;
  state.stage_runs = true;
  auto result = run_queue_stage(input_of(self));
  if (auto queues = queues_to_choose_from(result); !queues.empty())
    fetch_pods(self, std::move(queues));
  else
    outcome{self, std::move(result), {}}.carry_out();
}

void tell_grants(self_pointer self, const std::string& resource_group) {
  auto& state = self->state;
  quota_grants told;
  for (const auto& [queue, record] : state.quota)
    if (const auto* granted = find(record.grants, resource_group))
      told.queues[queue] = *granted;
  if (const auto found = state.groups.find(resource_group); found != state.groups.end())
    self->send(found->second.holder, std::move(told));
}

} // namespace reprieve
