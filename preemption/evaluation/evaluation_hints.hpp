#pragma once

#include "preemption/evaluation/evaluation.hpp"
#include "preemption/problem/problem.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What a search knows beforehand of where the best may be. It spares work and changes no outcome:
/// what is not known is looked for.
struct evaluation_hints {
  struct promising_node {
    node_row node = no_row;
    std::string_view name;
    score bound;
  };
  /// The most promising first; by name where they are equal.
  struct by_promise {
    minimise minimised = minimise::pods;
    bool operator()(const promising_node& a, const promising_node& b) const;
  };
  using nodes_in_order = std::set<promising_node, by_promise>;

  /// For a lone pod. Each node that is not among them can't have the pod, or comes after `rest`.
  nodes_in_order nodes;
  std::optional<node_prospect> rest;

  /// For a gang, by name of domain, a score that no outcome there is better than; nothing where the
  /// domain is sure to be infeasible. A domain that is not among them may be anything.
  std::map<std::string, std::optional<score>, std::less<>> domains;
};

/// The answers of all shards, each shard once and in any order, as they are used for one preemptor
/// after another of the same kind while the view changes. What has changed is looked at anew, and
/// nothing else.
class live_hints {
public:
  /// `touched` are the nodes on which the view as it is now may not be what the answers were made
  /// on:
  /// - the node itself, or a pod on it, changed, came or went, a hold or a choice as victim
  ///   included;
  /// - of a portion with a pod on it, something elsewhere changed: a pod began to leave or was
  ///   gone, was told another priority, start, checkpoint or minimum runtime, became a member that
  ///   is protected, arriving or opted out, or ceased to be one.
  ///
  /// Not touched is a node where none of that is so, whatever else happened:
  /// - a budget changed, or what is left of it: bounds and curves take every budget as unlimited;
  /// - held pods joined a portion on it, on other nodes: whoever goes costs no less, and who could
  ///   not go still can't;
  /// - more preemptions of a workload were counted in the last hour: fewer may go.
  ///
  /// The settings and the preemptor must be what the shards were told; but for a lone pod, time may
  /// have gone on.
  live_hints(const cluster_view& view, std::vector<shard_evaluation> answers,
             std::vector<node_row> touched = {})
      : answers_(std::move(answers)), touched_(std::move(touched)), as_of_(view.settled()) {}

  bool has_answers() const {
    return !answers_.empty();
  }
  /// Whether the nodes that the shards listed were not enough, and more were looked for in the
  /// view.
  bool is_spent() const {
    return used_up_;
  }

  /// What the answers say of the same view as it is by now; null where they are not
  /// of all nodes, or can't help.
  const evaluation_hints* on(const problem& given);

private:
  void begin(const problem& given);
  void add_answers(const problem& given);
  bool is_used_up() const;
  void look_for_more(const problem& given);
  void renew(const problem& given, std::span<const node_row> changed);
  void look_at(const problem& given, std::span<const node_row> nodes);
  void forget(std::span<const node_row> nodes);

  std::vector<shard_evaluation> answers_;
  std::vector<node_row> touched_;
  std::optional<evaluation_hints> seen_;
  std::map<node_row, evaluation_hints::nodes_in_order::iterator> positions_; ///< in `nodes`
  std::uint64_t as_of_; ///< how often nodes of the view had been settled then
  bool begun_ = false;
  bool used_up_ = false;
};

} // namespace reprieve
