#include "tests/support/queue_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace reprieve::tests {

namespace {

std::set<std::string> victim_uids(const queue_stage_result& result) {
  std::set<std::string> uids;
  for (const auto& one : result.queues)
    for (const auto& chosen : one.victims)
      for (const auto& p : chosen.pods)
        uids.insert(p.uid);
  return uids;
}

} // namespace

queues& queues::add(const std::string& queue, const std::vector<pod>& pods) {
  for (const auto& p : pods) {
    in_.pods.push_back(queue_pod_of(p, queue, "default"));
    // Workloads of one name may be in several queues here.
    in_.pods.back().uid = queue + "/" + p.uid;
  }
  return *this;
}

std::vector<std::string> queues::some_nodes(std::int32_t count) {
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < count; ++i)
    names.push_back(fmt::format("n{}", i));
  return names;
}

queue_stage_input with_victims_leaving(queue_stage_input in, const queue_stage_result& result) {
  const auto uids = victim_uids(result);
  in.previous = statuses_of(result);
  for (auto& p : in.pods)
    p.chosen = p.chosen || uids.contains(p.uid);
  return in;
}

queue_stage_input with_victims_gone(queue_stage_input in, const queue_stage_result& result) {
  const auto uids = victim_uids(result);
  in.previous = statuses_of(result);
  std::erase_if(in.pods, [&](const queue_pod& p) { return uids.contains(p.uid); });
  return in;
}

const queue_outcome& outcome_of(const queue_stage_result& result, std::string_view queue) {
  static const queue_outcome missing;
  const auto found = std::ranges::find(result.queues, queue, &queue_outcome::queue);
  return found == result.queues.end() ? missing : *found;
}

const queue_line& line_of(const queue_stage_result& result, std::string_view queue,
                          std::string_view resource) {
  static const queue_line missing;
  const auto& lines = outcome_of(result, queue).lines;
  const auto found = std::ranges::find(lines, resource, &queue_line::resource);
  return found == lines.end() ? missing : *found;
}

std::vector<std::string> victims_in(const queue_stage_result& result, std::string_view queue) {
  std::vector<std::string> workloads;
  for (const auto& one : result.queues)
    if (one.queue == queue)
      for (const auto& chosen : one.victims)
        workloads.push_back(chosen.portion.workload);
  return workloads;
}

std::vector<std::string> all_victims(const queue_stage_result& result) {
  std::vector<std::string> workloads;
  for (const auto& one : result.queues)
    for (const auto& chosen : one.victims)
      workloads.push_back(chosen.portion.workload);
  return workloads;
}

std::int64_t allocated(const queue_stage_result& result, std::string_view queue) {
  return line_of(result, queue, "cpu").allocated;
}

std::int64_t preempting(const queue_stage_result& result, std::string_view queue) {
  return line_of(result, queue, "cpu").preempting;
}

queue_case case_of(const queue_stage_result& result, std::string_view queue) {
  return line_of(result, queue, "cpu").stands;
}

queues one_against_two() {
  return queues(cpu(9)).queue("a").queue("b").queue("c").allocated("a", cpu(9));
}

} // namespace reprieve::tests
