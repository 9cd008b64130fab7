#pragma once

#include "preemption/evaluation.hpp"
#include "preemption/problem.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace reprieve {

/// What a search knows beforehand of where the best may be. It spares work and changes no outcome:
/// what is not known is looked for.
struct outlook {
  struct promising_node {
    node_row node = no_row;
    score bound;
  };

  /// For a lone pod, in order. Each node that is not among them can't have the pod, or comes after
  /// `rest`.
  std::vector<promising_node> nodes;
  std::optional<node_prospect> rest;

  /// For a gang, by name of domain, a score that no outcome there is better than; nothing where the
  /// domain is sure to be infeasible. A domain that is not among them may be anything.
  std::map<std::string, std::optional<score>, std::less<>> domains;
};

/// What the answers of all shards say, each shard once and in any order; nothing where they are not
/// of all nodes, or can't help. What was touched since they were made is looked at anew.
std::optional<outlook> outlook_of(const problem& given, std::span<const shard_evaluation> answers,
                                  const touched_nodes& touched);

} // namespace reprieve
