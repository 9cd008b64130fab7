#include "state/records/node_record.hpp"

#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

namespace reprieve {

namespace {

bool names(const std::vector<std::string>& uids, std::string_view uid) {
  return std::find(uids.begin(), uids.end(), uid) != uids.end();
}

/// Amounts by resource that may pass below zero; every pod also counts as one of `pods`. Resources
/// are few, so that a look at each is the quickest way to find one.
class balance {
public:
  explicit balance(const resources& start) : amounts_(start.begin(), start.end()) {}

  void take(const resources& requests) {
    take_all(requests);
    if (auto* pods = find(resource::pods))
      --*pods;
  }

  /// Of several pods, already summed up, with how many they are. A node that does not say how many
  /// pods it takes is not limited in their number.
  void take_all(const resources& sum) {
    for (const auto& [name, amount] : sum) {
      if (auto* left = find(name))
        *left -= amount;
      else if (name != resource::pods)
        amounts_.emplace_back(name, -amount);
    }
  }

  /// The first resource by name that these pods ask for and that is below zero, or an empty name. A
  /// node that shrank may be overdrawn in something that they do without.
  std::string_view short_of(const pod_list& asking) const {
    std::string_view first;
    for (const auto& [name, amount] : amounts_)
      if (amount < 0 && (first.empty() || name < first)
          && std::any_of(asking.begin(), asking.end(), [&](const pod& p) {
               return name == resource::pods || amount_of(p.requests, name) > 0;
             }))
        first = name;
    return first;
  }

  std::int64_t amount(std::string_view name) const {
    const auto found = std::ranges::find(amounts_, name, &named_amount::first);
    return found == amounts_.end() ? 0 : found->second;
  }

private:
  using named_amount = std::pair<std::string_view, std::int64_t>; // names live in the requests

  std::int64_t* find(std::string_view name) {
    const auto found = std::ranges::find(amounts_, name, &named_amount::first);
    return found == amounts_.end() ? nullptr : &found->second;
  }

  std::vector<named_amount> amounts_;
};

void add(resources& to, const resources& requests) {
  for (const auto& [name, amount] : requests)
    to[name] += amount;
  ++to[std::string(resource::pods)];
}

/// What one decision brings to a node and takes from it, while it may still be given up: until its
/// victims are told they may stay, so that nobody else can count on their room.
struct exchange {
  resources comes;
  resources goes;

  /// The most that may be taken, whatever comes of the decision.
  resources most() const {
    auto taken = comes;
    for (const auto& [name, amount] : goes)
      taken[name] = std::max(taken[name], amount);
    return taken;
  }
};

void bind(pod& p, time_point now) {
  p.phase = pod_phase::bound;
  p.created = now;
}

/// Whether what is placed fits into what is left of a node.
absl::Status leave_room(balance& left, const node_part& wanted, const std::string& node) {
  for (const auto& p : wanted.placed)
    left.take(p.requests);
  if (const auto lacking = left.short_of(wanted.placed); !lacking.empty())
    return absl::FailedPreconditionError(fmt::format(
      "node {} lacks {} of {}", node, format_quantity(-left.amount(lacking), lacking), lacking));
  return absl::OkStatus();
}

/// A hold takes room until its pods are bound, and these count as pods then.
bool is_hold(const pod& p) {
  return p.phase == pod_phase::nominated;
}

} // namespace

pod_pointers shared_pods(std::span<const assignment> placements) {
  pod_pointers pods;
  pods.reserve(placements.size());
  for (const auto& one : placements)
    pods.push_back(std::make_shared<const shared_pod>(one.placed));
  return pods;
}

std::vector<node_part> parts_of(std::span<const pod_list::pointer> placed,
                                std::span<const victim> victims,
                                std::span<const victim_pod> force_deletes) {
  std::map<std::string, node_part, std::less<>> by_node;
  const auto part = [&](const std::string& name) -> node_part& {
    auto& found = by_node[name];
    found.node = name;
    return found;
  };
  for (const auto& p : placed)
    part(p->what().node).placed.put(p);
  for (const auto& one : victims)
    if (!one.expected)
      for (const auto& p : one.pods)
        part(p.node).victims.push_back(p.uid);
  for (const auto& p : force_deletes)
    part(p.node).forced.push_back(p.uid);
  std::vector<node_part> parts;
  parts.reserve(by_node.size());
  for (auto& [name, found] : by_node)
    parts.push_back(std::move(found));
  return parts;
}

bool takes_pods(const node_record& record) {
  return record.spec->schedulable && record.spec->ready && !is_away(record.status);
}

node planned_on(node given, const node_status& status) {
  given.ready = given.ready && !is_away(status);
  if (status.most_pods) {
    const std::int64_t most = *status.most_pods;
    const auto [places, is_new] = given.capacity.try_emplace(std::string(resource::pods), most);
    places->second = std::min(places->second, most);
  }
  return given;
}

node planned_on(const node_record& record) {
  return planned_on(*record.spec, record.status);
}

bool planned_on_alike(const node_record& a, const node_record& b) {
  return a.spec == b.spec && is_away(a.status) == is_away(b.status)
         && a.status.most_pods == b.status.most_pods;
}

const pod* find_pod(const node_record& record, std::string_view uid) {
  return record.pods.find(uid);
}

absl::Status can_promise(const node_record& record, std::span<const node_part* const> holds,
                         const node_part& wanted) {
  const auto& name = record.spec->name;
  if (!wanted.placed.empty() && !takes_pods(record))
    return absl::FailedPreconditionError(fmt::format("node {} takes no pods any more", name));
  for (const auto& uid : wanted.victims) {
    const pod* chosen = find_pod(record, uid);
    if (chosen == nullptr || !takes_room(chosen->phase))
      return absl::FailedPreconditionError(fmt::format("victim {} has left node {}", uid, name));
    if (is_hold(*chosen))
      return absl::FailedPreconditionError(
        fmt::format("victim {} is still being placed on node {}", uid, name));
    if (!chosen->evicted_by.empty())
      return absl::FailedPreconditionError(
        fmt::format("victim {} goes already, by decision {}", uid, chosen->evicted_by));
    for (const node_part* hold : holds)
      if (names(hold->victims, uid))
        return absl::FailedPreconditionError(
          fmt::format("victim {} is chosen by another decision", uid));
    if (chosen->disruption == disruption_mode::pod_group)
      for (const auto& p : record.pods)
        if (takes_room(p.phase) && !is_leaving(p.phase) && p.evicted_by.empty()
            && portion_of(p) == portion_of(*chosen) && !names(wanted.victims, p.uid))
          return absl::FailedPreconditionError(
            fmt::format("portion {} would go without its pod {} on node {}",
                        to_string(portion_of(p)), p.uid, name));
  }
  for (const auto& uid : wanted.forced) {
    const pod* leaving = find_pod(record, uid);
    if (leaving == nullptr || leaving->phase != pod_phase::terminating)
      return absl::FailedPreconditionError(
        fmt::format("pod {} does not terminate on node {} any more", uid, name));
    if (!leaving->evicted_by.empty() && leaving->evicted_by != not_wanted)
      return absl::FailedPreconditionError(fmt::format(
        "pod {} was told to leave node {} by decision {}", uid, name, leaving->evicted_by));
  }
  balance left{record.spec->capacity};
  std::map<std::string_view, exchange> others; // by decision
  for (const auto& p : record.pods) {
    if (!takes_room(p.phase) || is_leaving(p.phase) || names(wanted.victims, p.uid))
      continue;
    if (is_hold(p))
      add(others[p.placed_by].comes, p.requests);
    else if (!p.evicted_by.empty())
      add(others[p.evicted_by].goes, p.requests);
    else if (std::ranges::none_of(
               holds, [&](const node_part* hold) { return names(hold->victims, p.uid); }))
      left.take(p.requests);
  }
  std::vector<resources> most; // whose names `left` refers to
  most.reserve(others.size() + holds.size());
  for (const auto& [decision, one] : others)
    left.take_all(most.emplace_back(one.most()));
  for (const node_part* hold : holds) {
    exchange one;
    for (const auto& p : hold->placed)
      add(one.comes, p.requests);
    for (const auto& uid : hold->victims)
      if (const pod* leaving = find_pod(record, uid))
        add(one.goes, leaving->requests);
    left.take_all(most.emplace_back(one.most()));
  }
  return leave_room(left, wanted, name);
}

absl::Status has_room_now(const node_record& record, std::span<const node_part* const> coming,
                          const node_part& wanted,
                          const std::function<bool(std::string_view)>& granted) {
  balance left{record.spec->capacity};
  for (const auto& p : record.pods)
    if (takes_room(p.phase) && (!is_hold(p) || granted(p.placed_by))
        && wanted.placed.find(p.uid) == nullptr) // it asks for that itself
      left.take(p.requests);
  for (const node_part* part : coming)
    for (const auto& p : part->placed)
      left.take(p.requests);
  return leave_room(left, wanted, record.spec->name);
}

pod_list::pointer chosen_by(std::string_view decision, const pod_list::pointer& p) {
  auto chosen = p->what();
  chosen.evicted_by = decision;
  return std::make_shared<const shared_pod>(std::move(chosen));
}

void apply(pod_list& pods, const node_part& part,
           const std::function<pod_list::pointer(const pod_list::pointer&)>& choose) {
  for (const auto& p : part.placed.shared())
    if (pods.find(p->what().uid) == nullptr)
      pods.put(p);
  for (const auto& uid : part.victims)
    if (const auto found = pods.find_shared(uid); found && found->what().evicted_by.empty())
      pods.put(choose(found));
}

void apply(node_record& record, const node_part& part, std::string_view decision) {
  apply(record.pods, part, [&](const auto& p) { return chosen_by(decision, p); });
}

bool shows(const node_record& record, const node_part& part, std::string_view decision) {
  const auto goes = [&](const std::string& uid) {
    const pod* p = find_pod(record, uid);
    return p == nullptr || p->evicted_by == decision;
  };
  const auto came = [&](const pod& p) { return find_pod(record, p.uid) != nullptr; };
  return std::ranges::all_of(part.victims, goes)
         && std::all_of(part.placed.begin(), part.placed.end(), came);
}

pod_pointers tell_victims(node_record& record, std::string_view decision, time_point now) {
  record.pods.erase_if([&](const pod& p) {
    return p.evicted_by == decision && p.phase == pod_phase::gone; // before it was told
  });
  return record.pods.change_if(
    [&](const pod& p) { return p.evicted_by == decision && p.stop_told == no_time; },
    [&](pod& p) {
      p.phase = pod_phase::terminating;
      p.stop_told = now;
    });
}

bool room_is_free(const node_record& record, std::string_view decision,
                  const std::function<bool(std::string_view)>& granted,
                  std::span<const node_part* const> coming) {
  balance bindable{record.spec->capacity};
  balance fair{record.spec->capacity};
  for (const node_part* part : coming)
    for (const auto& p : part->placed) {
      bindable.take(p.requests);
      fair.take(p.requests);
    }
  pod_list waiting;
  for (const auto& shared : record.pods.shared()) {
    const auto& p = shared->what();
    if (!takes_room(p.phase))
      continue;
    if (is_hold(p) && p.placed_by == decision)
      waiting.put(shared);
    if (!is_hold(p) || p.placed_by == decision || granted(p.placed_by))
      bindable.take(p.requests);
    const bool leaves_for_others =
      is_leaving(p.phase) && !p.evicted_by.empty() && p.evicted_by != decision;
    if (!leaves_for_others)
      fair.take(p.requests);
  }
  return bindable.short_of(waiting).empty() && fair.short_of(waiting).empty();
}

pod_pointers bind_nominated(node_record& record, std::string_view decision, time_point now) {
  return record.pods.change_if([&](const pod& p) { return is_hold(p) && p.placed_by == decision; },
                               [&](pod& p) { bind(p, now); });
}

pod_pointers bind_at_once(node_record& record, const node_part& part, time_point now) {
  pod_pointers bound;
  for (const auto& placed : part.placed) {
    if (record.pods.find(placed.uid) != nullptr)
      continue;
    auto p = placed;
    bind(p, now);
    record.pods.put(bound.emplace_back(std::make_shared<const shared_pod>(std::move(p))));
  }
  return bound;
}

void release(node_record& record, std::string_view decision, std::span<const portion_id> told) {
  record.pods.erase_if([&](const pod& p) { return is_hold(p) && p.placed_by == decision; });
  record.pods.change_if(
    [&](const pod& p) {
      return p.evicted_by == decision && p.stop_told == no_time
             && std::find(told.begin(), told.end(), portion_of(p)) == told.end();
    },
    [](pod& p) { p.evicted_by.clear(); });
}

pod_pointers force_delete(node_record& record, std::span<const std::string> uids,
                          std::string_view decision, time_point now) {
  pod_pointers forced;
  for (const auto& uid : uids) {
    const auto found = record.pods.find_shared(uid);
    if (!found)
      continue;
    const auto& by = found->what().evicted_by;
    if (found->what().phase == pod_phase::force_deleting && (by == decision || by == not_wanted)) {
      forced.push_back(found);
    } else if (found->what().phase == pod_phase::terminating && (by.empty() || by == not_wanted)) {
      auto next = found->what();
      next.phase = pod_phase::force_deleting;
      // Its workload has a place for one that is not wanted, which is to be filled anew.
      if (by.empty())
        next.evicted_by = decision;
      next.stop_told = now;
      next.checkpoint_time = next.grace_period = duration{0};
      record.pods.put(forced.emplace_back(std::make_shared<const shared_pod>(std::move(next))));
    }
  }
  return forced;
}

void put_pod(node_record& record, pod p) {
  record.pods.put(std::move(p));
}

bool erase_pod(node_record& record, std::string_view uid) {
  return record.pods.erase(uid);
}

} // namespace reprieve
