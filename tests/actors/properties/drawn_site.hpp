#pragma once

#include "state/model/object.hpp"
#include "tests/simulation/dice.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reprieve::tests {

/// What somebody does to a cluster.
struct site_change {
  std::vector<object> put;
  std::optional<std::pair<object_kind, std::string>> removed;
  std::vector<std::string> heard; ///< nodes whose agents speak, for the first time or again
  duration then{0};               ///< passes before the next change
};

/// A cluster that a seed draws, and what its people do to it: resource groups of all policies, a
/// tree of queues, a few machines in each group, and more work than there is room for. The same for
/// a seed wherever it is drawn, whatever comes of it.
class drawn_site {
public:
  explicit drawn_site(std::uint64_t seed);

  /// What there is at first: resource groups and queues, to be applied before the rest.
  std::vector<object> catalog() const;
  /// Machines, budgets and the first work.
  std::vector<object> contents();

  /// What comes next.
  site_change next();

private:
  void draw_groups();
  void draw_queues();
  void draw_amounts(queue& q);
  void draw_nodes();
  void draw_budgets();
  std::string name(std::string_view kind);
  const resource_group& some_group();
  workload draw_work();
  void draw_daemon(workload& w);
  void draw_gang(workload& w);
  void draw_end(workload& w);
  void change_queue(site_change& made);
  void change_node(site_change& made);
  void change_work(site_change& made);

  simulation::dice luck_;
  std::vector<resource_group> groups_;
  std::vector<queue> queues_; ///< parents before their children
  std::vector<node> nodes_;
  std::vector<disruption_budget> budgets_;
  std::vector<workload> work_; ///< that was not deleted
  int named_ = 0;
};

} // namespace reprieve::tests
