#pragma once

#include "actors/caf.hpp"
#include "preemption/evaluation/evaluation.hpp"
#include "state/model/decision.hpp"
#include "state/model/portion.hpp"
#include "state/view/portion_card.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

/// What it costs to preempt a pod by now, where that is not what its node's record says: its
/// workload has been told otherwise since (docs/architecture.md#the-model).
struct pod_cost {
  std::int32_t priority = 0;
  time_point checkpointed = no_time;
  duration minimum_runtime{0};

  bool operator==(const pod_cost&) const = default;
};

/// What a node shard can't know by itself of the portions on its nodes, so that it can judge them
/// alone (docs/protocol.md#messages-of-a-decision): sent as it changes.
struct portion_facts {
  /// Of whole replicas, what they have on the nodes of other shards; nothing where they have none
  /// there any more.
  std::vector<std::pair<portion_id, portion_part>> elsewhere;
  /// By node and uid; of each node all there are.
  std::map<std::string, std::map<std::string, pod_cost, std::less<>>> costs;

  bool empty() const {
    return elsewhere.empty() && costs.empty();
  }
  bool operator==(const portion_facts&) const = default;
};

/// Asks for what a shard's nodes have for a preemptor.
struct evaluate_nodes {
  std::shared_ptr<const evaluation_request> asked;
  trace_context trace;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::portion_facts)
REPRIEVE_MESSAGE(reprieve::evaluate_nodes)
REPRIEVE_MESSAGE(reprieve::shard_evaluation)
