#include "protocol/messages/convert_reasoning.hpp"

#include "protocol/messages/convert_fields.hpp"
#include "protocol/messages/convert_pod.hpp"

// No user gives these: what the engine made of its numbers is taken as it is, since a stored
// decision must always be readable.

namespace reprieve {

v1::Spared to_proto(const spared& from) {
  v1::Spared to;
  *to.mutable_portion() = to_proto(from.portion);
  to.set_priority(from.priority);
  to.set_reason(from.reason);
  return to;
}

absl::StatusOr<spared> from_proto(const v1::Spared& from) {
  spared to;
  field_reader read;
  read.one("portion", from.portion(), to.portion, from_proto);
  to.priority = from.priority();
  to.reason = from.reason();
  return read.result(std::move(to));
}

v1::Score to_proto(const score& from) {
  v1::Score to;
  to.set_budget_violations(from.budget_violations);
  to.set_highest_victim_priority(from.highest_victim_priority);
  to.set_cascades(from.cascades);
  to.set_priority_sum(from.priority_sum);
  to.set_pods(from.pods);
  if (from.most_important != importance{}) { // what an earlier version has written has none
    auto& most_important = *to.mutable_most_important();
    most_important.set_group(from.most_important.group);
    most_important.set_pods(from.most_important.pods);
    most_important.set_start(to_nanoseconds(from.most_important.start));
  }
  to.set_work_lost(from.work_lost);
  to.set_earliest_start_of_most_important(to_nanoseconds(from.earliest_start_of_most_important));
  return to;
}

absl::StatusOr<score> from_proto(const v1::Score& from) {
  score to;
  to.budget_violations = from.budget_violations();
  to.highest_victim_priority = from.highest_victim_priority();
  to.cascades = from.cascades();
  to.priority_sum = from.priority_sum();
  to.pods = from.pods();
  to.most_important = {from.most_important().group(), from.most_important().pods(),
                       time_point{duration{from.most_important().start()}}};
  to.work_lost = from.work_lost();
  to.earliest_start_of_most_important =
    time_point{duration{from.earliest_start_of_most_important()}};
  return to;
}

v1::DomainOutcome to_proto(const domain_outcome& from) {
  v1::DomainOutcome to;
  to.set_domain(from.domain);
  to.set_feasible(from.feasible);
  to.set_chosen(from.chosen);
  to.set_reason(from.reason);
  to.set_short_resource(from.short_resource);
  to.set_short_by(from.short_by);
  if (from.threshold)
    to.set_threshold(*from.threshold);
  to.set_victims(from.victims);
  *to.mutable_score() = to_proto(from.scored);
  return to;
}

absl::StatusOr<domain_outcome> from_proto(const v1::DomainOutcome& from) {
  domain_outcome to;
  field_reader read;
  to.domain = from.domain();
  to.feasible = from.feasible();
  to.chosen = from.chosen();
  to.reason = from.reason();
  to.short_resource = from.short_resource();
  to.short_by = from.short_by();
  if (from.has_threshold())
    to.threshold = from.threshold();
  to.victims = from.victims();
  read.one("score", from.score(), to.scored, from_proto);
  return read.result(std::move(to));
}

v1::Reasoning to_proto(const reasoning& from) {
  v1::Reasoning to;
  to.set_summary(from.summary);
  if (from.threshold)
    to.set_threshold(*from.threshold);
  write_all(from.domains, *to.mutable_domains());
  write_all(from.reprieved, *to.mutable_reprieved());
  write_all(from.passed_over, *to.mutable_passed_over());
  to.set_budget_reached(from.budget_reached);
  to.set_proved_least(from.proved_least);
  to.set_fewest_pods(from.fewest_pods);
  return to;
}

absl::StatusOr<reasoning> from_proto(const v1::Reasoning& from) {
  reasoning to;
  field_reader read;
  to.summary = from.summary();
  if (from.has_threshold())
    to.threshold = from.threshold();
  read.all("domains", from.domains(), to.domains, from_proto);
  read.all("reprieved", from.reprieved(), to.reprieved, from_proto);
  read.all("passed_over", from.passed_over(), to.passed_over, from_proto);
  to.budget_reached = from.budget_reached();
  to.proved_least = from.proved_least();
  to.fewest_pods = from.fewest_pods();
  return read.result(std::move(to));
}

} // namespace reprieve
