#include "preemption/cycle/quota.hpp"

#include "preemption/problem/apportion.hpp"
#include "preemption/waiting/waiting_line.hpp"
#include "state/model/queue_limits.hpp"
#include "state/quantities/resource_sums.hpp"

#include <algorithm>
#include <ranges>

namespace reprieve {

namespace {

/// Calls `use(queue)` for the queue and all above it.
void each_above(by_name<queue>& queues, std::string_view name, auto use) {
  for (auto at = queues.find(name); at != queues.end(); at = queues.find(at->second.parent))
    use(at->second);
}

/// A group's amounts, by the resources of the limit.
struct group_lines {
  const std::string* group = nullptr;
  const quota_need* need = nullptr;
  std::vector<std::int64_t> granted;
  std::vector<std::int64_t> waits;  ///< and is given nothing yet
  std::vector<std::int64_t> wanted; ///< what it uses, and of what waits as much as there is for it
  std::vector<std::int64_t> target; ///< with its part of the rest
};

std::int64_t unit_of(std::string_view resource) {
  return resource == resource::gpu ? 1000 : 1;
}

/// The limit of one queue, shared out.
class sharing {
public:
  sharing(const resources& limit, const by_name<quota_need>& groups,
          const by_name<resources>& granted) {
    for (const auto& [resource, amount] : limit) {
      names_.push_back(resource);
      limit_.push_back(amount);
    }
    rest_ = limit_;
    for (const auto& [group, need] : groups) {
      auto& one = groups_.emplace_back();
      one.group = &group;
      one.need = &need;
      const auto* had = find(granted, group);
      one.granted = had == nullptr ? std::vector<std::int64_t>(limit_.size()) : columns_of(*had);
      one.waits = columns_of(need.blocked);
      one.wanted.resize(limit_.size());
    }
    give_what_is_used();
    give_what_is_wished();
    for (auto& one : groups_)
      for (std::size_t r = 0; r < limit_.size(); ++r)
        give_waiting(one, r, one.waits[r]);
    give_the_rest();
  }

  grant_changes changes() && {
    grant_changes made;
    for (std::size_t r = 0; r < limit_.size(); ++r)
      add_changes(r, made);
    return made;
  }

private:
  std::vector<std::int64_t> columns_of(const resources& amounts) const {
    std::vector<std::int64_t> found;
    for (const auto name : names_)
      found.push_back(amount_of(amounts, name));
    return found;
  }

  void give(group_lines& to, std::size_t r, std::int64_t amount) {
    to.wanted[r] += amount;
    rest_[r] -= amount;
  }

  /// Up to what waits, and to what there is.
  void give_waiting(group_lines& to, std::size_t r, std::int64_t amount) {
    const auto more = std::clamp<std::int64_t>(std::min(rest_[r], to.waits[r]), 0, amount);
    give(to, r, more);
    to.waits[r] -= more;
  }

  void give_what_is_used() {
    for (std::size_t r = 0; r < limit_.size(); ++r) {
      std::vector<std::int64_t> used;
      wide_int all = 0;
      for (const auto& one : groups_)
        all += used.emplace_back(amount_of(one.need->used.staying, names_[r]));
      const auto unit = unit_of(names_[r]);
      if (all > limit_[r]) {
        used = apportion(limit_[r] / unit, used);
        for (auto& one : used)
          one *= unit;
      }
      for (std::size_t i = 0; i < groups_.size(); ++i)
        give(groups_[i], r, used[i]);
    }
  }

  void give_what_is_wished() {
    std::vector<std::pair<const quota_wish*, group_lines*>> wishes;
    for (auto& one : groups_)
      for (const auto& wish : one.need->wishes)
        wishes.emplace_back(&wish, &one);
    std::ranges::stable_sort(wishes, {}, [](const auto& one) {
      return std::pair(-std::int64_t{one.first->priority}, one.first->since);
    });
    for (const auto& [wish, of] : wishes) {
      const auto each = columns_of(wish->each);
      auto count = wish->count;
      for (std::size_t r = 0; r < each.size(); ++r)
        if (each[r] > 0)
          count =
            std::min(count, std::max<std::int64_t>(std::min(rest_[r], of->waits[r]), 0) / each[r]);
      for (std::size_t r = 0; r < each.size(); ++r)
        give_waiting(*of, r, count * each[r]);
    }
    // What there is not enough for keeps nothing from others. Of the rest it may make use where
    // less important work of its own group goes as well.
    for (const auto& [wish, of] : wishes)
      for (std::size_t r = 0; r < limit_.size(); ++r)
        give_waiting(*of, r, amount_of(wish->each, names_[r]) * wish->count);
  }

  /// Whole units where there are such: a part of a GPU is of use to nobody.
  void give_the_rest() {
    for (auto& one : groups_)
      one.target = one.wanted;
    for (std::size_t r = 0; r < limit_.size(); ++r) {
      const auto unit = unit_of(names_[r]);
      const auto evenly = apportion(std::max<std::int64_t>(rest_[r], 0) / unit,
                                    std::vector<std::int64_t>(groups_.size(), 1));
      for (std::size_t i = 0; i < groups_.size(); ++i)
        groups_[i].target[r] += evenly[i] * unit;
    }
  }

  void add_changes(std::size_t r, grant_changes& changes) {
    const std::string resource(names_[r]);
    auto pool = limit_[r];
    for (const auto& one : groups_)
      pool -= one.granted[r];
    bool lacking = pool < 0;
    for (auto& one : groups_) {
      const auto more = std::clamp<std::int64_t>(
        pool, 0, std::max<std::int64_t>(one.target[r] - one.granted[r], 0));
      one.granted[r] += more;
      pool -= more;
      changes.granted[*one.group][resource] = one.granted[r];
      lacking = lacking || one.granted[r] < one.wanted[r];
    }
    if (lacking)
      for (const auto& one : groups_)
        if (one.target[r] < one.granted[r])
          changes.lower[*one.group][resource] = one.target[r];
  }

  std::vector<std::string_view> names_; ///< of resources
  std::vector<std::int64_t> limit_;
  std::vector<std::int64_t> rest_;
  std::vector<group_lines> groups_;
};

} // namespace

by_name<queue> part_of_group(by_name<queue> queues, const by_name<resources>& elsewhere) {
  for (const auto& [name, used] : elsewhere)
    each_above(queues, name, [&](queue& at) {
      for (auto& [resource, most] : at.limit)
        most = std::max<std::int64_t>(most - amount_of(used, resource), 0);
    });
  return queues;
}

by_name<queue> part_by_grants(by_name<queue> queues, const by_name<resources>* granted,
                              const by_name<queue_totals>& used) {
  by_name<resources> taken; // below each queue
  for (const auto& [name, totals] : used)
    each_above(queues, name, [&](queue& at) { add_to(taken[at.name], totals.staying); });
  for (auto& [name, one] : queues)
    for (auto& [resource, most] : one.limit) {
      const auto* known = granted == nullptr ? nullptr : find(*granted, name);
      if (known == nullptr || !known->contains(resource))
        known = &taken[name];
      most = std::min(most, amount_of(*known, resource));
    }
  return queues;
}

bool is_limited(const by_name<queue>& queues, std::string_view name) {
  for (auto at = queues.find(name); at != queues.end(); at = queues.find(at->second.parent))
    if (!at->second.limit.empty())
      return true;
  return false;
}

std::vector<quota_wish> wishes_in(const waiting_line& line, std::string_view queue) {
  constexpr std::size_t most = 16;
  struct waiting {
    const service_place* place;
    const preemptor* who;
    std::int64_t count;
  };
  std::vector<waiting> found;
  for (const auto& [key, kind] : line.kinds_in(queue))
    if (!kind.units.empty() && kind.found.ever_runs)
      found.push_back(
        {&kind.units.begin()->first, kind.units.begin()->second.who.get(), kind.count});
  if (const auto units = line.fresh().find(queue); units != line.fresh().end())
    for (const auto& [place, unit] : units->second | std::views::take(most))
      found.push_back({&place, unit.who.get(), unit.run ? unit.run->size() : 1});
  const auto told = std::min(most, found.size());
  std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(told),
                            [](const auto& a, const auto& b) { return *a.place < *b.place; });
  found.resize(told);
  std::vector<quota_wish> wishes;
  wishes.reserve(told);
  for (const auto& [place, who, count] : found) {
    auto& wish = wishes.emplace_back(quota_wish{place->priority, place->submitted, {}, count});
    for (const auto& group : who->groups) {
      add_times(wish.each, group.pods.front().requests, group.needed);
      wish.each[std::string(resource::pods)] += group.needed;
    }
  }
  return wishes;
}

grant_changes share_out(const resources& limit, const by_name<quota_need>& groups,
                        const by_name<resources>& granted) {
  return sharing{limit, groups, granted}.changes();
}

} // namespace reprieve
