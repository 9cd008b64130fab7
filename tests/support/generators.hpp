#pragma once

#include "state/model/decision.hpp"
#include "state/model/object.hpp"
#include "state/records/workload_record.hpp"

#include <rapidcheck.h>

#include <type_traits>
#include <utility>

/// Generators for every type of the model: take a `node` as a property's argument, or ask for
/// `rc::gen::arbitrary<node>()`.
///
/// They make all that a message or a record must carry, which is more than admission accepts: names
/// may be empty or refer to nothing. Text is UTF-8; times, durations, amounts, counts and positions
/// are not negative; priorities and scores are any number.
namespace reprieve {

/// Fills every field; only while a generator runs.
void draw(taint_effect& to);
void draw(taint& to);
void draw(toleration& to);
void draw(node& to);
void draw(node_status& to);

void draw(preemption_policy& to);
void draw(priority_class& to);

void draw(group_policy& to);
void draw(preemption_order& to);
void draw(victim_strategy& to);
void draw(minimise& to);
void draw(guards& to);
void draw(required_node_settings& to);
void draw(resource_group& to);

void draw(queue& to);
void draw(queue_status& to);

void draw(workload_kind& to);
void draw(disruption_mode& to);
void draw(resume_policy& to);
void draw(pod_template& to);
void draw(pod_group& to);
void draw(resume_settings& to);
void draw(checkpoint_settings& to);
void draw(workload& to);
void draw(condition& to);
void draw(resolved_priority& to);
void draw(past_preemption& to);
void draw(workload_status& to);

void draw(pod_phase& to);
void draw(portion_id& to);
void draw(pod& to);

void draw(pod_slot& to);
void draw(slot_state& to);
void draw(slot_record& to);
void draw(workload_course& to);

void draw(nominated_room& to);
void draw(placement& to);
void draw(disruption_budget& to);
void draw(object& to);

void draw(decision_phase& to);
void draw(assignment& to);
void draw(victim_pod& to);
void draw(victim& to);
void draw(count_change& to);
void draw(spared& to);
void draw(score& to);
void draw(domain_outcome& to);
void draw(reasoning& to);
void draw(trace_context& to);
void draw(decision& to);

void draw(standing_decision& to);
void draw(node_reservation& to);
void draw(group_status& to);

} // namespace reprieve

namespace rc {

template <class Model>
struct Arbitrary<Model, std::void_t<decltype(draw(std::declval<Model&>()))>> {
  static Gen<Model> arbitrary() {
    return gen::exec([] {
      Model made;
      draw(made);
      return made;
    });
  }
};

} // namespace rc
