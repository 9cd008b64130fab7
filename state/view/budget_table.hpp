#pragma once

#include "state/containers/name_pool.hpp"
#include "state/model/disruption_budget.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// Which budgets count which pods, and how many they count. Whether a budget matches is found once
/// for every distinct set of labels, not for every pod.
class budget_table {
public:
  using label_set = name_pool::id;

  void put(const disruption_budget& budget);
  void remove(std::string_view name);

  /// Counts a pod with these labels, and as `running` where it is.
  label_set add(const string_map& labels, bool running);
  /// Undoes one `add`.
  void drop(label_set labels, bool running);
  /// A pod that was added comes to run, or does not run any more.
  void count_running(label_set labels, bool running);

  /// Counts so many more pods with these labels as expected, though they have no node; below zero,
  /// so many fewer, as far as there are any.
  void expect(const string_map& labels, std::int64_t pods);

  /// After changes of budgets: gives them their rows and counts, in one pass over the label sets.
  void settle();

  /// The rows of the budgets that match, ascending.
  std::span<const std::uint32_t> matching(label_set labels) const {
    return sets_[labels].budgets;
  }
  std::size_t rows() const {
    return budgets_.size();
  }
  const disruption_budget& at(std::uint32_t row) const {
    return budgets_[row].budget;
  }
  std::int64_t allowed(std::uint32_t row) const;

  std::size_t memory() const;

private:
  struct counted_budget {
    disruption_budget budget;
    std::int64_t expected = 0;
    std::int64_t running = 0;
  };

  /// How many pods on nodes have the set is the number of references to its name. All that wait
  /// hold one reference together.
  struct counted_set {
    std::uint32_t running = 0;
    std::uint32_t waiting = 0;
    std::vector<std::uint32_t> budgets;
  };

  label_set hold(const string_map& labels);
  std::vector<std::uint32_t> match(const string_map& labels) const;

  std::map<std::string, disruption_budget, std::less<>> given_;
  bool changed_ = false;

  std::vector<counted_budget> budgets_; ///< in order of name
  /// Each budget stands under the first pair it asks for, so that few are looked at.
  std::map<std::string, std::map<std::string, std::vector<std::uint32_t>, std::less<>>, std::less<>>
    by_first_pair_;
  std::vector<std::uint32_t> for_all_; ///< that ask for no label

  name_pool label_texts_;
  std::vector<counted_set> sets_; ///< by number in `label_texts_`
};

} // namespace reprieve
