#pragma once

// The rules behind admission.hpp, kind by kind; for the admission files only.

#include "state/admission/admission.hpp"
#include "state/quantities/time.hpp"
#include "state/records/record_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve::rules {

/// Of one amount: the last number up to which JSON readers are exact. What sums may come to is
/// `most_in_all`.
inline constexpr std::int64_t largest_amount = std::int64_t{1} << 53;
/// Of one workload.
inline constexpr std::int64_t most_pods = record_limits::pods;
/// Of those, pods of gangs and of groups that are bound to a node: whenever one of them changes,
/// its coordinator looks at all of them.
inline constexpr std::int64_t most_pods_looked_at = record_limits::pods_looked_at;
inline constexpr std::int64_t largest_weight = 1'000'000;
inline constexpr std::size_t most_queues_above = 64;
inline constexpr duration longest_wait = std::chrono::hours{24 * 365 * 10};

/// The cluster before the batch, and as it would stand with the batch applied.
struct prospect {
  const catalog& before;
  const catalog& after;
  const admission_facts& facts;
  const caller* by = nullptr; ///< null where everything may be asked for

  // Of the batch:
  std::map<std::string_view, const node*> nodes;
  std::map<std::string_view, const queue*> queues;
  std::map<std::string_view, const workload*> workloads;
  /// What the queues under each queue are guaranteed in all, where the batch has queues.
  std::map<std::string_view, resources> guaranteed_below;
  /// How many levels of queues that the batch does not have are below each that it has.
  std::map<std::string_view, std::size_t> levels_below;
  /// The queues that the batch puts more workloads into than they may have, and how many it puts.
  std::map<std::string_view, std::int64_t> overfilled;
  /// What all nodes have together with the batch, of the resources of which that is too much.
  by_name<wide_int> too_much;
  /// By queue, how many pods its workloads ask for with the batch, where somebody asks whom
  /// ceilings hold.
  by_name<std::int64_t> pods_by_queue;

  std::optional<std::string> group_of_node(std::string_view name) const;
  const workload* find_workload(std::string_view name) const;
};

/// Collects what is wrong with one object.
class findings {
public:
  findings(object_kind kind, std::string_view name, std::vector<refusal>& into)
      : kind_{kind}, name_{name}, into_{into} {}

  /// `text` goes on where the field's name ends: `is 0; it must be at least 1`.
  template <class... Args>
  void refuse(std::string field, fmt::format_string<Args...> text, Args&&... args) {
    add(std::move(field), fmt::format(text, std::forward<Args>(args)...));
  }

private:
  void add(std::string field, std::string_view text);

  object_kind kind_;
  std::string_view name_;
  std::vector<refusal>& into_;
};

/// Of DNS, in characters.
inline constexpr std::size_t longest_label = 63;
inline constexpr std::size_t longest_subdomain = 253;

/// `text` in quotes, shortened where it is long, on one line.
std::string in_quotes(std::string_view text);

bool is_dns_label(std::string_view text);
bool is_dns_subdomain(std::string_view text);
/// `name` or `prefix/name`, the prefix a DNS subdomain.
bool is_qualified_name(std::string_view text);
bool is_label_value(std::string_view text);

void check_dns_label(findings& out, std::string field, std::string_view name);
void check_qualified_name(findings& out, std::string field, std::string_view name);
void check_labels(findings& out, std::string_view field, const string_map& labels);
void check_amounts(findings& out, std::string_view field, const resources& amounts);
void check_wait(findings& out, std::string_view field, duration d);

/// Refuses more of something than a record has room for; `what` is `labels` and the like. True
/// where there are not too many, so that it is worth looking at each.
bool check_number(findings& out, std::string_view field, std::string_view what, std::size_t number,
                  std::size_t most);

template <class T>
void check_at_least(findings& out, std::string_view field, T value, T least) {
  if (value < least)
    out.refuse(std::string{field}, "is {}; it must be at least {}", value, least);
}

/// A few of the names in `entries`, to choose from.
template <class T>
std::string some_names(const by_name<T>& entries) {
  int room = 5;
  std::string list;
  for (const auto& [name, entry] : entries) {
    if (room-- == 0)
      return list + ", …";
    list += (list.empty() ? "" : ", ") + name;
  }
  return list;
}

/// Refuses one more where there are as many as there may be.
template <class T>
void check_object_count(findings& out, const by_name<T>& before, const by_name<T>& after,
                        const std::string& name, std::string_view what, std::size_t most) {
  if (!before.contains(name) && after.size() > most)
    out.refuse("metadata.name", "is one of {} {}; there may be at most {}", after.size(), what,
               most);
}

/// Refuses a name that is in neither the catalog nor the batch. `what` is `queue` and the like.
template <class T>
const T* check_known(findings& out, std::string_view field, std::string_view what,
                     const by_name<T>& entries, std::string_view name) {
  const auto* found = find(entries, name);
  if (found == nullptr)
    out.refuse(std::string{field},
               "is {}, and there is no {} of that name; create it or name one of: {}",
               in_quotes(name), what, some_names(entries));
  return found;
}

void check(findings& out, const prospect& cluster, const node& n);
void check(findings& out, const prospect& cluster, const queue& q);
void check(findings& out, const prospect& cluster, const priority_class& c);
void check(findings& out, const prospect& cluster, const resource_group& g);
void check(findings& out, const prospect& cluster, const workload& w);
void check(findings& out, const prospect& cluster, const placement& p);
void check(findings& out, const prospect& cluster, const disruption_budget& b);
void check(findings& out, const prospect& cluster, const pod& p);

/// Refuses what is above the ceilings of the workload's queue and of those above it. What was
/// admitted before and is asked for again as it is stays.
void check_ceilings(findings& out, const prospect& cluster, const workload& w);
/// Refuses ceilings that make no sense.
void check_ceilings(findings& out, const queue& q);

/// By queue, what its workloads ask for with the batch.
by_name<std::int64_t> pods_by_queue_with(const prospect& cluster);

/// Refuses settings that the workloads which the group holds do not go with, where the settings are
/// new: who was admitted under others is not left behind.
void check_what_it_holds(findings& out, const prospect& cluster, const resource_group& g);

/// Refuses limits of a queue that could not be granted to so many resource groups in one record.
void check_grants(findings& out, std::string_view field, const queue& q, std::size_t groups);

/// Whether a priority is on the scale of groups with the sessions policy.
constexpr bool is_session_priority(std::int32_t value) {
  return value >= lowest_session_priority && value <= highest_session_priority;
}

/// Sums of what the queues under each queue are guaranteed; they stop at the end of 64 bits.
std::map<std::string_view, resources> sum_guaranteed_by_parent(const by_name<queue>& queues);
/// By queue of the batch, how many levels of queues that are not in it are below it.
std::map<std::string_view, std::size_t>
count_levels_below(const by_name<queue>& queues,
                   const std::map<std::string_view, const queue*>& batch);

/// What all nodes have together with those of the batch, of resources of which they may not.
by_name<wide_int> too_much_in_all(const prospect& cluster);

/// How many queues stand above `q`, in a tree without cycles.
std::size_t depth_of(const queue& q, const by_name<queue>& queues);

} // namespace reprieve::rules
