#include "actors/queue_shard/queue_stage_runner.hpp"

#include "actors/interfaces/planted_bug.hpp"
#include "preemption/cycle/quota.hpp"
#include "state/model/queue_limits.hpp"
#include "state/records/keys.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>

namespace reprieve {

namespace {

using self_pointer = queue_shard_pointer;

/// Long enough for a burst of reports to share a run.
constexpr std::chrono::milliseconds gathering_time{2};
constexpr std::chrono::seconds retry_delay{1};

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
  write_then(
    self, std::move(writes),
    [self, written = std::move(written), then]() mutable {
      for (auto& [name, record] : written)
        if (record)
          self->state.quota[name] = *std::move(record);
        else
          self->state.quota.erase(name);
      then();
    },
    {}, [self](const absl::Status& why) { // admission bounds what the stage comes to
      self->quit(can_not_go_on(std::string(why.message())));
    });
}

/// The group has answered, or nobody knows whether it did. What it was told was held back
/// meanwhile, as it would have been given again what it agreed to do without.
void end_lowering(self_pointer self, const std::string& group, std::uint64_t holders) {
  auto& asked = self->state.groups[group];
  if (asked.holders != holders)
    return;
  asked.lowering = false;
  tell_grants(self, group);
}

/// Takes down what the newest record has less of for the group.
void keep_lower(resources& granted, const quota_record* newest, const std::string& group) {
  const auto* kept = newest == nullptr ? nullptr : find(newest->grants, group);
  if (kept == nullptr)
    return;
  for (auto& [resource, amount] : granted)
    if (const auto to = kept->find(resource); to != kept->end())
      amount = std::min(amount, to->second);
}

/// Asks a group to do with less; what it agrees to is written down, and then others may have it.
void ask_to_lower(self_pointer self, const std::string& group, lower_grants wanted) {
  auto& one = self->state.groups[group];
  if (!one.holder || std::exchange(one.lowering, true))
    return;
  self->request(one.holder, answer_time, std::move(wanted))
    .then(
      [self, group, holder = one.holders](const quota_grants& kept) {
        auto& state = self->state;
        if (state.groups[group].holders != holder)
          return;
        std::set<std::string> lowered;
        for (const auto& [queue, amounts] : kept.queues)
          if (const auto record = state.newest_quota.find(queue);
              record != state.newest_quota.end()) {
            auto& granted = record->second.grants[group];
            for (const auto& [resource, amount] : amounts)
              if (granted[resource] > amount) {
                granted[resource] = amount;
                lowered.insert(queue);
              }
          }
        // What its pods use even so it gives back when they have gone, which it will report.
        if (lowered.empty())
          end_lowering(self, group, holder);
        else
          write_quota(self, lowered, [self, group, holder] {
            end_lowering(self, group, holder);
            stage_is_due(self);
          });
      },
      [self, group, holder = one.holders](caf::error&) {
        end_lowering(self, group, holder);
        self->delayed_send(self, retry_delay, run_stage{});
      });
}

/// What the groups use and ask for below each queue.
by_name<by_name<quota_need>> needs_below(const queue_shard_state& state) {
  by_name<by_name<quota_need>> needs; // by queue and group
  for (const auto& [group, one] : state.groups)
    for (const auto& [name, need] : one.told.queues)
      for (const auto* at = find(state.known->queues, name); at != nullptr;
           at = find(state.known->queues, at->parent)) {
        auto& sum = needs[at->name][group];
        add_to(sum.used.staying, need.used.staying);
        add_to(sum.blocked, need.blocked);
        std::ranges::copy(need.wishes, std::back_inserter(sum.wishes));
      }
  // Nobody keeps a part of a limit that its nodes do not have.
  for (auto& [queue, groups] : needs)
    for (auto& [group, sum] : groups) {
      const auto& capacity = state.groups.at(group).told.capacity;
      for (auto& [resource, blocked] : sum.blocked)
        if (const auto most = capacity.find(resource); most != capacity.end())
          blocked = std::clamp<std::int64_t>(most->second - amount_of(sum.used.staying, resource),
                                             0, blocked);
    }
  return needs;
}

/// How the queues stand in all groups together.
by_name<queue_status> sum_of_statuses(const queue_shard_state& state) {
  by_name<queue_status> sum;
  for (const auto& [group, one] : state.groups)
    for (const auto& [name, status] : one.told.standing) {
      auto& to = sum[name];
      add_to(to.deserved, status.deserved);
      add_to(to.allocated, status.allocated);
      add_to(to.used, status.used);
      add_to(to.preempting, status.preempting);
    }
  return sum;
}

/// Shares the limits of queues out among the groups: new records where they differ, and who is to
/// be told or asked.
class division {
public:
  explicit division(self_pointer self) : self_(self) {
    auto& state = self->state;
    auto needs = needs_below(state);
    for (const auto& [name, one] : state.known->queues)
      if (!one.limit.empty())
        renew(one, needs[name]);
    for (auto& [group, one] : state.groups)
      if (auto before = std::exchange(one.asked_down, lower_[group].queues);
          is_less(one.asked_down, before))
        told_.insert(group);
    std::erase_if(state.newest_quota, [&](const auto& record) {
      const auto* one = find(state.known->queues, record.first);
      const bool gone = one == nullptr || one->limit.empty();
      if (gone)
        changed_.insert(record.first);
      return gone;
    });
  }

  const std::set<std::string>& changed() const {
    return changed_;
  }

  /// All is durable.
  void tell() {
    for (const auto& group : told_)
      tell_grants(self_, group);
    for (auto& [group, to] : lower_)
      if (!to.queues.empty())
        ask_to_lower(self_, group, std::move(to));
    self_->state.stage_runs = false;
    if (self_->state.stage_due)
      self_->send(self_, run_stage{});
  }

private:
  /// Whether something was asked before that is not asked any more.
  static bool is_less(const by_name<resources>& now, const by_name<resources>& before) {
    return std::ranges::any_of(before, [&](const auto& one) {
      const auto* still = find(now, one.first);
      return still == nullptr || std::ranges::any_of(one.second, [&](const auto& amount) {
               return !still->contains(amount.first);
             });
    });
  }

  /// A resource group that is gone spends nothing.
  void forget_groups(quota_record& record) {
    const auto& groups = self_->state.known->groups;
    forgot_ =
      std::erase_if(record.grants, [&](const auto& one) { return !groups.contains(one.first); })
      > 0;
  }

  void renew(const queue& of, by_name<quota_need>& needs) {
    auto& state = self_->state;
    auto& record = state.newest_quota[of.name];
    if (!is_planted(planted_bug::keeps_dead_grants))
      forget_groups(record);
    std::erase_if(needs, [&](const auto& one) { return !state.known->groups.contains(one.first); });
    for (const auto& [group, one] : state.groups)
      if (state.known->groups.contains(group))
        needs.try_emplace(group);
    // Whoever was granted something has it, even if nobody speaks for the group now.
    for (const auto& [group, granted] : record.grants)
      if (const auto [need, absent] = needs.try_emplace(group); absent)
        need->second.used.staying = granted;
    const auto shared = share_out(of.limit, needs, record.grants);
    for (const auto& [group, lower] : shared.lower) {
      lower_[group].queues[of.name] = lower;
      lower_[group].used[of.name] = needs[group].used.staying;
    }
    if (!forgot_ && record.grants == shared.granted && record.allocated.empty()
        && record.preempting.empty())
      return;
    for (const auto& [group, granted] : shared.granted)
      if (const auto* before = find(record.grants, group); before == nullptr || *before != granted)
        told_.insert(group);
    record = {{}, {}, shared.granted};
    changed_.insert(of.name);
  }

  self_pointer self_;
  bool forgot_ = false;           ///< whether the record lost groups that it was for
  std::set<std::string> changed_; ///< queues
  std::set<std::string> told_;    ///< groups
  by_name<lower_grants> lower_;   ///< by group
};

} // namespace

void stage_is_due(self_pointer self) {
  if (std::exchange(self->state.stage_due, true) || self->state.stage_runs)
    return;
  self->delayed_send(self, gathering_time, run_stage{});
}

void start_stage(self_pointer self) {
  auto& state = self->state;
  state.stage_due = false;
  if (state.stage_runs)
    return;
  state.stage_runs = true;
  state.statuses = sum_of_statuses(state);
  const auto made = std::make_shared<division>(self);
  const auto changed = made->changed();
  if (changed.empty())
    made->tell();
  else
    write_quota(self, changed, [made] { made->tell(); });
}

void tell_grants(self_pointer self, const std::string& resource_group) {
  auto& state = self->state;
  quota_grants told;
  // What is durable; and of what is being lowered, no more than it will be.
  for (const auto& [queue, record] : state.quota)
    if (const auto* granted = find(record.grants, resource_group)) {
      auto& to = told.queues[queue] = *granted;
      if (!is_planted(planted_bug::grants_twice))
        keep_lower(to, find(state.newest_quota, queue), resource_group);
    }
  const auto found = state.groups.find(resource_group);
  if (found == state.groups.end() || !found->second.holder || found->second.lowering)
    return;
  if (!is_planted(planted_bug::grants_twice))
    told.asked_down = found->second.asked_down;
  told.epoch = state.ledger.settings.owner->lasting_epoch();
  told.number = ++found->second.told_grants;
  self->send(found->second.holder, std::move(told));
}

} // namespace reprieve
