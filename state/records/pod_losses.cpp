#include "state/records/pod_losses.hpp"

#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace reprieve {

namespace {

constexpr std::string_view type = "PodsLost";
constexpr std::string_view between = "; "; // no name has it
constexpr std::string_view before_names = ": ";

std::string sentence(const std::string& node, bool forgotten, const std::vector<std::string>& names,
                     time_point now) {
  const bool one = names.size() == 1;
  auto text =
    fmt::format("at {} {} lost", format_time(now),
                one ? std::string("a pod was") : fmt::format("{} pods were", names.size()));
  if (forgotten)
    text += fmt::format(", as the machine of node {} does not know {} any more", node,
                        one ? "it" : "them");
  else
    text += node.empty() ? " with a node" : fmt::format(" with node {}", node);
  for (std::size_t i = 0; i < std::min(names.size(), lost_pods_named); ++i)
    text += fmt::format("{}{}", i == 0 ? before_names : ", ", names[i]);
  if (names.size() > lost_pods_named)
    text += fmt::format(" and {} more", names.size() - lost_pods_named);
  return text;
}

std::vector<std::string> split(std::string_view text, std::string_view by) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(by), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + by.size(), text.size()));
  }
  return parts;
}

/// Whether the sentence names the pod, as a whole word.
bool names(std::string_view sentence, std::string_view pod) {
  const auto is_end = [&](std::size_t at) {
    return at >= sentence.size() || sentence[at] == ',' || sentence[at] == ' ';
  };
  const auto first = sentence.rfind(before_names);
  for (auto at = first; at != std::string_view::npos; at = sentence.find(pod, at + 1))
    if (at > first && sentence[at - 1] == ' ' && is_end(at + pod.size()))
      return true;
  return false;
}

} // namespace

void note_losses(workload_record& record, std::span<const lost_pod> lost, time_point now) {
  std::map<std::pair<std::string, bool>, std::vector<std::string>> by_node;
  for (const auto& one : lost)
    if (const auto known = slot_at(record, one.slot);
        known.incarnation == one.incarnation && known.state == slot_state::wanted)
      by_node[{one.node, one.forgotten}].push_back(pod_name(record.spec->name, one.slot));
  if (by_node.empty())
    return;
  auto told = losses_of(record.status);
  for (const auto& [where, pods] : by_node)
    told.push_back(sentence(where.first, where.second, pods, now));
  if (told.size() > losses_remembered)
    told.erase(told.begin(), told.end() - losses_remembered);
  // Not as another form of what was there: `since` is the time of the last loss.
  clear_condition(record.status, type);
  record.status.conditions.push_back(
    {std::string(type), true, "NodeLost", fmt::format("{}", fmt::join(told, between)), now});
}

std::vector<std::string> losses_of(const workload_status& status, std::string_view pod) {
  const auto found = std::ranges::find(status.conditions, type, &condition::type);
  if (found == status.conditions.end())
    return {};
  auto told = split(found->message, between);
  if (!pod.empty())
    std::erase_if(told, [&](const std::string& one) { return !names(one, pod); });
  return told;
}

} // namespace reprieve
