#pragma once

#include "preemption/evaluation/curves.hpp"
#include "preemption/problem/plan.hpp"
#include "preemption/problem/preemptor.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// Evaluation across shards (docs/protocol.md#messages-of-a-decision). Every node shard has a view
/// of its own nodes, and says of them what a coordinator with a view of all of them would otherwise
/// have to find out node by node. The coordinator decides; the plan is the same as without any
/// answers, whatever the number of shards and the order of the answers.
namespace reprieve {

/// What shards are asked for one preemptor.
struct evaluation_request {
  /// Without a name; one pod stands for all of a group, with nothing but its requests. Its own
  /// workload's pods count as candidates then, so that bounds are no worse for that.
  preemptor who;
  plan_settings settings;
  std::size_t most = 32; ///< nodes that a shard lists

  bool operator==(const evaluation_request&) const = default;
};

evaluation_request request_for(const preemptor& who, const plan_settings& settings,
                               std::size_t most = 32);

/// Whether the answers to the request hold for the preemptor too.
bool is_for(const evaluation_request& asked, const preemptor& who);

/// Whether the answers of shards spare the coordinator anything. They do not
/// - for who is bound to a node: that one alone is looked at;
/// - for sessions, which go one by one in an order of the whole resource group;
/// - where the plan tells of every domain, so that each has to be tried;
/// - for a gang with a search budget, since it is told whether any domain came to its end.
/// A plan with these is made by the coordinator as if it had not asked.
bool shards_can_help(const preemptor& who, const plan_settings& settings);

/// A node, and a score that no outcome there is better than, now or later, as long as the node and
/// the portions on it stay as they are.
struct node_prospect {
  std::string node;
  score bound;

  bool operator==(const node_prospect&) const = default;
};

/// Whether `a` is more promising, or as promising and first by name.
bool comes_before(const node_prospect& a, const node_prospect& b, minimise minimised);

/// How many pods of each of the preemptor's groups fit on the shard's nodes in one domain.
struct domain_curves {
  std::string domain;
  std::vector<capacity_curve> curves; ///< by position in `preemptor::groups`

  bool operator==(const domain_curves&) const = default;
};

/// The answer of one shard.
struct shard_evaluation {
  std::size_t nodes = 0; ///< that it has
  /// For a lone pod, the most promising nodes, in order, and the next one that is not among them;
  /// all others come after that. A node that nobody's going makes fit is not mentioned.
  std::vector<node_prospect> listed;
  std::optional<node_prospect> rest;
  /// For a gang, each domain that the shard has nodes of.
  std::vector<domain_curves> domains;

  bool operator==(const shard_evaluation&) const = default;
};

/// Run by the shard on the view of its own nodes, which has been told what whole replicas have on
/// other nodes (`cluster_view::put_elsewhere`). Without that the answer to a lone pod holds too,
/// only that bounds are looser: who has no pods elsewhere costs less. Curves need it: whether a
/// portion has run for its minimum runtime is told by its earliest start. Budgets are not looked
/// at.
shard_evaluation evaluate(const cluster_view& own, const evaluation_request& asked);

} // namespace reprieve
