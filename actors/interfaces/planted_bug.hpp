#pragma once

namespace reprieve {

/// Mistakes that the simulation makes on purpose, one at a time, to show that it would find them.
enum class planted_bug {
  none,
  no_epoch,           ///< writes do not compare the owner's epoch
  tells_at_prepare,   ///< victims are told when a shard votes yes
  drops_yes,          ///< a hold that expires is dropped without the abort being written
  partial_vote,       ///< a decision commits although a shard voted no
  releases_told,      ///< a victim that was told is taken back when its decision is given up
  unknown_is_aborted, ///< a commit of which nothing is known is taken for one that did not happen
  double_count,       ///< what leaves a queue counts as used beside what comes in its place
  early_refill, ///< a queue's share does not fall with what is taken from it, until that is gone
  deletes_held_nodes, ///< a node goes although somebody was promised room there
  forgets_aborts,     ///< that a decision was aborted is forgotten while its commit is on its way
  grants_twice,       ///< a coordinator that begins anew is told what its group gives back just now
  keeps_dead_grants,  ///< a resource group that was deleted keeps its part of limits
  any_incarnation,    ///< a decision evicts whoever stands where its victims stood
  tears_gangs, ///< what a decision has placed itself is in its way when it is carried out again
  tears_files, ///< what the shards have of a file is written by each by itself
  asks_by_starting, ///< machines are asked how pods fare by orders to start them
};

/// Whether that mistake is to be made. The library says no, for good; the simulation brings a
/// definition of its own, which a program takes in place of a library's.
bool is_planted(planted_bug one);

} // namespace reprieve
