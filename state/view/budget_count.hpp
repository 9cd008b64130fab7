#pragma once

#include "state/model/decision.hpp"
#include "state/records/node_record.hpp"
#include "state/view/budget_table.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// What a decision takes from one budget.
struct budget_part {
  std::string budget;
  std::vector<victim_pod> pods; ///< that the budget counts and that go
  std::int64_t over = 0;        ///< of these, how many the plan knows to be more than it allows

  bool operator==(const budget_part&) const = default;
};

/// Counts the pods of a resource group for the budgets that one shard owns, from the node records.
class budget_count {
public:
  void put(const disruption_budget& budget);
  void remove(const std::string& name);
  void put(std::shared_ptr<const node_record> record);
  void remove_node(const std::string& name);
  void forget_nodes();
  /// So many more pods with these labels are wanted and have no node; below zero, so many fewer.
  void expect(const string_map& labels, std::int64_t pods);

  /// How many more pods the budget lets go now; nothing where there is no such budget.
  std::optional<std::int64_t> allowed(std::string_view budget);

  /// How many of the pods are still there and not on their way out.
  std::int64_t staying(const std::vector<victim_pod>& pods) const;

private:
  struct counted_node {
    std::shared_ptr<const node_record> record;
    std::vector<std::pair<budget_table::label_set, bool>> pods; ///< as they were added
  };

  budget_table table_;
  bool changed_ = false;
  std::map<std::string, counted_node, std::less<>> nodes_;
};

} // namespace reprieve
