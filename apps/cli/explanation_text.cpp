#include "apps/cli/explanation_text.hpp"

#include "apps/cli/object_rows.hpp"
#include "state/quantities/quantity.hpp"
#include "state/text/counted.hpp"

#include <fmt/format.h>

#include <cctype>
#include <map>

namespace reprieve {

namespace {

constexpr std::size_t most_lines = 12; ///< of one list; the rest is counted

/// Adds a titled list; long ones are cut, and say so.
template <class Items, class F>
void add_list(std::string& text, std::string_view title, const Items& items, F line) {
  if (items.empty())
    return;
  text += fmt::format("  {} ({}):\n", title, items.size());
  std::size_t shown = 0;
  for (const auto& item : items) {
    if (shown++ == most_lines) {
      text += fmt::format("    … and {} more; -o json shows all\n", items.size() - most_lines);
      break;
    }
    text += fmt::format("    {}\n", line(item));
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

std::string victim_line(const victim& v) {
  std::map<std::string, int> nodes;
  for (const auto& p : v.pods)
    ++nodes[p.node];
  std::string where;
  for (const auto& [node, count] : nodes)
    where += fmt::format("{}{}×{}", where.empty() ? "" : ", ", node, count);
  return fmt::format("{}, priority {}, {} ({}): {}", to_string(v.portion), v.priority,
                     counted(std::ssize(v.pods), "pod"), where, v.reason);
}

std::string domain_line(const domain_outcome& d) {
  return fmt::format("{} {}: {}", d.chosen ? "→" : (d.feasible ? "·" : "✗"), d.domain, d.reason);
}

} // namespace

std::string plan_lines(const decision& d, std::string_view what_became_of_it) {
  auto text = fmt::format("  {}\n", d.why.summary);
  text += fmt::format("  for         {}, in resource group {}, policy {}\n",
                      d.queue.empty() ? joined(d.workloads) : "queue " + d.queue, d.resource_group,
                      d.policy);
  text += what_became_of_it;
  if (d.why.threshold)
    text += fmt::format("  threshold   N = {}: nothing above it was touched\n", *d.why.threshold);
  if (d.scored.pods > 0) // nobody compares what the queue stage takes back
    text +=
      fmt::format("  score       {}, highest victim priority {}, {}, {}, {} lost\n",
                  counted(d.scored.budget_violations, "budget violation"),
                  d.scored.highest_victim_priority, d.scored.cascades ? "cascades" : "no cascade",
                  counted(d.scored.pods, "pod"), counted(d.scored.work_lost, "GPU-second"));
  if (!d.victims.empty() && d.why.proved_least)
    text += "  search      proved: no other victims cost less\n";
  else if (!d.victims.empty() && d.why.fewest_pods > 0 && !d.why.budget_reached)
    text += fmt::format("  search      the least that were found; at least {} pod{} there\n",
                        d.why.fewest_pods, d.why.fewest_pods == 1 ? " has to go" : "s have to go");
  if (d.why.budget_reached)
    text += d.assignments.empty() ? "  search      budget reached\n"
                                  : "  search      best found so far, budget reached\n";
  add_list(text, "placed", d.assignments, [](const assignment& a) {
    return fmt::format("{} on {}", a.placed.name, a.placed.node);
  });
  add_list(text, "victims", d.victims, victim_line);
  add_list(text, "replicas", d.counts, [](const count_change& one) {
    return one.from == one.to
             ? fmt::format("{} keeps {} in {}", one.deployment, one.to, one.cluster)
             : fmt::format("{} goes from {} to {} in {}", one.deployment, one.from, one.to,
                           one.cluster);
  });
  add_list(text, "force-deleted", d.force_deletes,
           [](const victim_pod& one) { return fmt::format("{} on {}", one.uid, one.node); });
  add_list(text, "reprieved", d.why.reprieved, [](const spared& s) {
    return fmt::format("{}, priority {}: {}", to_string(s.portion), s.priority, s.reason);
  });
  add_list(text, "passed over", d.why.passed_over, [](const spared& s) {
    return fmt::format("{}, priority {}: {}", to_string(s.portion), s.priority, s.reason);
  });
  add_list(text, "domains", d.why.domains, domain_line);
  return text;
}

std::string decision_story(const decision& d) {
  auto text = fmt::format("  decided     {}", format_time(d.decided));
  if (d.committed != no_time)
    text += fmt::format(", committed {}", format_time(d.committed));
  if (d.ended != no_time)
    text += fmt::format(", ended {}", format_time(d.ended));
  text += '\n';
  if (!d.abort_reason.empty())
    text += fmt::format("  aborted     {}\n", d.abort_reason);
  if (const auto& parent = d.trace.traceparent; parent.size() > 35)
    text += fmt::format("  trace       {}\n", parent.substr(3, 32));
  return fmt::format("Decision {}  [{}]\n{}", d.id, to_string(d.phase), plan_lines(d, text));
}

static std::string with_capital(std::string sentence) {
  if (!sentence.empty())
    sentence.front() =
      static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  return sentence;
}

std::string explanation_story(const explanation& e) {
  std::string text;
  for (const auto& d : e.decisions)
    text += decision_story(d) + "\n";
  if (!e.pending_reason.empty())
    text += fmt::format("It waits: {}\n", e.pending_reason);
  for (const auto& note : e.notes)
    text += with_capital(note) + "\n";
  if (text.empty() && e.missing.empty())
    text = "Nothing was decided about it yet.\n";
  return text;
}

} // namespace reprieve
