#pragma once

#include "preemption/lifecycle_allocation.hpp"

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace reprieve {

/// Whose replicas may go for whom where queues share a cluster (DESIGN 3.4): within a queue those
/// of less important deployments; between queues, in favour of one whose queue deserves it, those
/// of queues that use more than they deserve, however important, and where none does, less
/// important ones.
class queue_sharing final : public lifecycle_sharing {
public:
  explicit queue_sharing(const lifecycle_allocation& after);

  bool may_go(std::string_view of, std::string_view to, bool less_important) override;
  void matched(const lifecycle_match& made) override;

  /// What keeps the deployment from one more replica of what others have.
  lifecycle_grants::obstacle in_the_way(std::string_view deployment) const;
  /// What keeps the match's deployment from one more replica even with the victims gone, as things
  /// stand before the match.
  lifecycle_grants::obstacle in_the_way(const lifecycle_match& made);

private:
  const counted_share* share_of(std::string_view deployment) const;
  bool would_go(const counted_share& of, const counted_share& to, bool less_important);
  /// Those leave their queue who count in it as long as nobody scales their deployment down.
  void move_victims(const lifecycle_match& made, std::int64_t sign);

  lifecycle_grants grants_; ///< with what was matched so far
  std::map<std::string_view, const counted_share*> by_deployment_;
  /// What was asked since the last match.
  std::map<std::tuple<std::string_view, std::string_view, bool>, bool> answered_;
};

} // namespace reprieve
