#pragma once

#include "preemption/policies/queues/group_shares.hpp"
#include "preemption/policies/queues/queue_stage.hpp"
#include "preemption/policies/queues/queue_table.hpp"
#include "preemption/policies/queues/queue_victims.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

/// Below a limit that is exceeded a portion stays that its own queue can't keep, where less
/// important ones below the same limit may go in its stead and its queue may use as much then
/// (docs/policies.md#queues): it would only come back and take their room. Only queues that are
/// capped by their demand take part, as others keep what they deserve.
///
/// What is asked again and again is looked up once: each portion that goes costs as many others as
/// go in its stead. The input and the table must live longer.
class limit_exchange {
public:
  limit_exchange(const queue_stage_input& in, const queue_table& table) : in_(in), table_(table) {}

  /// By row that was changed, whether some of it go in the stead of others.
  using changed_rows = std::map<std::size_t, bool>;

  /// Of `by_row`, who goes of each leaf queue, changes the rows that it returns.
  changed_rows run(std::vector<queue_choice>& by_row);

private:
  using amounts_by_column = group_shares::amounts_by_column;

  struct known_portion {
    queue_portion is;
    std::size_t row = 0;
    std::size_t number = 0;       ///< in the order in which those of a row go
    std::optional<victim> told{}; ///< where it goes
    std::size_t spared_by = no_vertex;
  };
  /// A queue with more pods below it than its limit admits.
  struct exceeded_limit {
    std::size_t vertex = no_vertex;
    amounts_by_column allowed; ///< nobody goes for what those hold who stay past their limits
    std::vector<known_portion*> in_order{}; ///< who may go instead, the first to go first
    std::size_t first = 0;                  ///< in that order, all before it go
    by_name<std::int32_t> on_their_way{};
    std::set<std::pair<std::size_t, amounts_by_column>> in_vain{}; ///< rows, and what one held
  };

  bool is_capped(std::size_t row) const {
    return table_.leaf(row).spec.cap_by_demand;
  }
  std::size_t leaf_of(std::size_t row) const {
    return table_.tree().leaves[row];
  }
  bool has_limit_above(std::size_t row) const;
  void find_exceeded();
  amounts_by_column allowed_below(std::size_t vertex) const;
  void list_pods_below(exceeded_limit& of);
  std::vector<known_portion>& portions(std::size_t row);
  void begin(const std::vector<queue_choice>& by_row);
  std::vector<known_portion*> going_in_turn(const std::vector<queue_choice>& by_row);
  bool spare_below(exceeded_limit& limit, known_portion& one);
  std::optional<queue_choice> choose_instead(const exceeded_limit& limit, const known_portion& one);
  bool may_use(const known_portion& one) const;
  void rewrite(std::size_t row, queue_choice& choice) const;

  const queue_stage_input& in_;
  const queue_table& table_;
  std::optional<group_shares> shares_; ///< with all who stay now
  std::vector<exceeded_limit> exceeded_;
  std::map<std::size_t, std::vector<known_portion>> portions_; ///< by row, where they were needed
  std::map<portion_id, known_portion*> by_id_;

  std::optional<group_shares> after_; ///< as all who go have gone
  by_name<std::int32_t> going_;       ///< how many portions, by resource group
  changed_rows changed_;
};

/// These queues and all that share a limit above them with one of them: whose pods have to be
/// listed for that.
std::vector<std::string> with_who_share_limits(const queue_stage_input& in,
                                               std::span<const std::string> queues);

} // namespace reprieve
