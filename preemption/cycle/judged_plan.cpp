#include "preemption/cycle/judged_plan.hpp"

#include "state/text/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace reprieve {

/// What the unit gets, as the summary of any plan begins.
static std::string what_it_gets(const preemptor& who, const plan& made) {
  std::set<std::string_view> nodes;
  for (const auto& one : made.assignments)
    nodes.insert(one.placed.node);
  return fmt::format("{} (priority {}) gets {} on {}", who.workload, who.priority,
                     counted(std::ssize(made.assignments), "pod"),
                     counted(std::ssize(nodes), "node"));
}

void keep_what_is_needed(const preemptor& who, plan& made) {
  std::map<std::string_view, std::int32_t> left;
  for (const auto& group : who.groups)
    left[group.name] += group.needed;
  const auto before = what_it_gets(who, made);
  std::erase_if(made.assignments,
                [&](const assignment& one) { return --left[one.placed.group] < 0; });
  if (auto& told = made.why.summary; told.starts_with(before))
    told.replace(0, before.size(), what_it_gets(who, made));
}

std::string summary_of(const preemptor& who, const plan& made, std::size_t for_quota,
                       std::string_view whose, const std::string& why) {
  auto text = what_it_gets(who, made);
  if (made.result == plan::outcome::placed)
    text += " in what is free";
  else if (made.result == plan::outcome::waits)
    text += " once those have gone who leave anyway";
  const auto all = made.victims.size();
  text += fmt::format("; {} {}", counted(static_cast<std::int64_t>(all), whose),
                      all == 1 ? "goes" : "go");
  if (for_quota < all)
    text += fmt::format(", {} of them", for_quota);
  return text
         + fmt::format(" as {}; nothing above priority {} was touched", why,
                       made.scored.highest_victim_priority);
}

void drop(plan& made, std::string policy) {
  made = plan{};
  made.policy = std::move(policy);
}

} // namespace reprieve
