#pragma once

#include "preemption/problem/problem.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// A part of the cluster that the preemptor is to sit in whole.
struct domain {
  std::string_view name;
  std::span<const node_row> nodes; ///< that suit one of its groups, in order of name
  /// That suit none, where budgets count on pods there (docs/policies.md#workload-aware step 6); a
  /// gang's only.
  std::span<const node_row> others = {};
};

/// The domains a preemptor tries (docs/policies.md#workload-aware step 2), disjoint.
class domain_set {
public:
  /// Each suitable node by itself, in order of name.
  static domain_set single_nodes(const problem& given);

  /// All suitable nodes together, or with topology keys those together that agree in all of them;
  /// in order of name. A node without one of the keys is in no domain.
  static domain_set for_gang(const problem& given);

  /// Likewise of these nodes, which are suitable and in order of name, and others, which are not.
  static domain_set among(const problem& given, std::span<const node_row> nodes,
                          std::span<const node_row> others = {});

  domain_set(const domain_set&) = delete;
  domain_set(domain_set&&) = default;
  domain_set& operator=(const domain_set&) = delete;
  domain_set& operator=(domain_set&&) = default;

  std::span<const domain> all() const {
    return domains_;
  }

private:
  struct members {
    std::vector<node_row> nodes;
    std::vector<node_row> others;
  };

  domain_set() = default;
  /// Puts the nodes into the domains that they belong to.
  void add(const problem& given, std::span<const node_row> nodes,
           std::vector<node_row> members::*as);

  std::vector<domain> domains_;
  std::vector<node_row> single_nodes_;
  std::map<std::string, members> named_;
};

/// Every topology key of the preemptor's groups, outermost first.
std::vector<std::string> topology_keys_of(const preemptor& who);

} // namespace reprieve
