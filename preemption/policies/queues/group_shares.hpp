#pragma once

#include "preemption/policies/queues/queue_table.hpp"
#include "state/view/cluster_view.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What queues share of the view's nodes: what these have; of one that takes no pods, or has more
/// than it can hold, what its pods take, so that nobody has to go because of that.
resources capacity_to_share(const cluster_view& view);

/// What the queues of one resource group may use while a cycle runs (docs/policies.md#queues). What
/// they deserve is fixed when the cycle begins; what they use changes with every unit that is
/// placed and every portion that goes.
///
/// Amounts are by column: the resources that the group's nodes have, in order of name.
class group_shares {
public:
  using amounts_by_column = std::vector<std::int64_t>;

  /// The queues' limits and guarantees are the group's part of them.
  explicit group_shares(const queue_stage_input& in);

  std::span<const std::string> columns() const {
    return columns_;
  }
  amounts_by_column columns_of(const resources& amounts) const;
  /// The vertex of the queue's pods, or `no_vertex` where there is no such queue.
  std::size_t leaf_of(std::string_view queue) const;
  /// The vertices of queues that may have pods, in order of name.
  std::span<const std::size_t> leaves() const {
    return tree_.leaves;
  }
  const queue_vertex& at(std::size_t vertex) const {
    return tree_.vertices[vertex];
  }

  /// Whether no other queue has pods, keeps anything or asks for what it deserves, so that nobody
  /// has to share.
  bool is_alone(std::size_t leaf) const;
  /// Whether so much more is within what the queue deserves and within all limits: it may be taken
  /// from queues that use more than they deserve.
  bool is_entitled(std::size_t leaf, const amounts_by_column& more) const;
  /// Whether so much is within what the queue deserves in all, whatever its pods use.
  bool could_deserve(std::size_t leaf, const amounts_by_column& all) const;
  /// Whether so much more takes nothing that is kept for others: what nobody deserves and no limit
  /// forbids may be used until somebody who deserves it asks for it. Nobody may have what it would
  /// have to give back at once, nor what others would have to give back for it.
  bool may_borrow(std::size_t leaf, const amounts_by_column& more) const;

  /// How much of the column it may borrow, and no more than is asked for.
  std::int64_t most_to_borrow(std::size_t leaf, std::size_t column, std::int64_t asked) const;
  /// What the leaf keeps of what it deserves and uses, whoever else asks: the queue stage takes
  /// back what is more.
  std::int64_t keeps(std::size_t leaf, std::size_t column) const;
  /// Whether so much more would leave every other queue what it deserves, whether it uses that now
  /// or asks for it.
  bool leaves_others_their_share(std::size_t leaf, const amounts_by_column& more) const;

  /// Whether there is so much more in all than pods use that stay.
  bool has_room_for(const amounts_by_column& more) const;

  /// A quota in the way of so much more: the share of the leaf itself, or the limit of a queue
  /// above it.
  struct obstacle {
    std::size_t vertex = no_vertex;
    bool limit = false;
    bool for_ever = false;  ///< it is more than the limit as a whole
    std::size_t column = 0; ///< of which there is too little
    std::int64_t allowed = 0;
  };
  /// The limits in the way, from the leaf up.
  std::vector<obstacle> limits_in_the_way(std::size_t leaf, const amounts_by_column& more) const;
  bool is_within_limits(std::size_t leaf, const amounts_by_column& more) const;
  /// Whether there is a limit on it, or above it.
  bool is_limited(std::size_t leaf) const;
  /// Whether all pods above the leaf and in it are within the limits on what is asked for, those
  /// who leave too; with so much more, where that is given.
  bool is_within_limits_with_all(std::size_t leaf, const amounts_by_column& asked,
                                 const amounts_by_column* more = nullptr) const;
  /// What keeps the unit from more, where it may not borrow either.
  std::optional<obstacle> share_in_the_way(std::size_t leaf, const amounts_by_column& more) const;
  /// All in the way, where the unit may not borrow either: one for each queue whose limit it is,
  /// from the leaf up, and its own share.
  std::vector<obstacle> all_in_the_way(std::size_t leaf, const amounts_by_column& more) const;
  /// How much the quota is, by column; as much as there can be where it says nothing.
  amounts_by_column allowed_at(const obstacle& one) const;
  /// Likewise, what it has left.
  amounts_by_column left_at(const obstacle& one) const;
  /// Whether the quota is more than that in some column, or has more left.
  bool grew_since(const obstacle& one, const amounts_by_column& allowed,
                  const amounts_by_column& left) const;
  std::string sentence_of(const obstacle& one, const amounts_by_column& more) const;

  /// What pods that stay use below the vertex.
  const amounts_by_column& staying(std::size_t vertex) const {
    return staying_[vertex];
  }
  const amounts_by_column& deserved(std::size_t vertex) const {
    return deserved_[vertex];
  }
  /// Whether all ask for more of the column than there is. Of others everybody can have what it
  /// asks for, so nobody's share of them is to be spared.
  bool is_scarce(std::size_t column) const {
    return scarce_[column];
  }
  /// 1 for such columns, 0 for others.
  amounts_by_column scarce() const {
    return {scarce_.begin(), scarce_.end()};
  }
  /// Whether the leaf's pods use more than it deserves of something that is asked for.
  bool uses_too_much(std::size_t leaf, const amounts_by_column& of) const;
  bool anybody_uses_too_much(const amounts_by_column& of) const;
  /// Likewise of anything.
  bool anybody_uses_too_much() const;
  /// How much more than it deserves each leaf uses, column by column.
  std::vector<std::int64_t> excess() const;
  /// What the pods take that leave, by column.
  amounts_by_column leaving() const;
  /// Whether pods of other queues than this one stay.
  bool others_have_pods(std::size_t leaf) const;
  bool is_below(std::size_t vertex, std::size_t ancestor) const;
  /// What the queue keeps when others below the same limit need room.
  std::int64_t guaranteed(std::size_t vertex, std::size_t column) const;

  /// Pods come to stay, or leave.
  void add(std::size_t leaf, const amounts_by_column& amounts, std::int64_t sign);
  /// Pods that were only promised room give it up.
  void release(std::size_t leaf, const amounts_by_column& amounts);

private:
  bool exceeds_limit(std::size_t vertex, std::size_t column, std::int64_t more) const;
  std::int64_t reserve_of(std::size_t vertex, std::size_t column, std::int64_t below) const;
  bool leaves_room_for_others(std::size_t leaf, std::size_t column, std::int64_t more) const;
  bool may_be_kept(std::size_t leaf, std::size_t column, std::int64_t more) const;
  bool may_be_kept_of(const std::vector<amounts_by_column>& by, std::size_t leaf,
                      std::size_t column, std::int64_t more) const;

  queue_tree tree_;
  std::vector<std::string> columns_;
  by_name<std::size_t> leaf_of_;
  amounts_by_column capacity_;
  std::vector<bool> scarce_;                ///< by column
  amounts_by_column units_;                 ///< in which each is shared
  std::vector<amounts_by_column> limits_;   ///< by vertex, empty where it has none
  std::vector<amounts_by_column> deserved_; ///< by vertex
  std::vector<amounts_by_column> staying_;  ///< likewise
  std::vector<amounts_by_column> used_;     ///< by leaf, with those who leave
  std::vector<amounts_by_column> reserved_; ///< likewise: used, or kept for who does not use it
};

/// Who may go from other queues than the own, one after the other, while each of these, and of
/// those above it that are not above the own, keeps what it is guaranteed.
class guarantee_keeper {
public:
  guarantee_keeper(const group_shares& shares, std::size_t own) : shares_(shares), own_(own) {}

  /// Whether the leaf's pods that hold so much may go after those before; then they count as gone.
  bool lets_go(std::size_t leaf, const group_shares::amounts_by_column& holds);

private:
  const group_shares& shares_;
  std::size_t own_;
  std::map<std::size_t, group_shares::amounts_by_column> left_; ///< what stays, by vertex
};

} // namespace reprieve
