#pragma once

#include "tests/engine/worlds/counted_cluster.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace reprieve::tests {

/// The best of all decisions on a small cluster, by going through all of them: every domain, every
/// set of victims of which none could stay, every way to seat a preemptor that comes whole.
class exhaustive_search {
public:
  /// With more candidates than this there are too many sets.
  static constexpr std::size_t most_candidates = 16;

  exhaustive_search(const cluster& in, const preemptor& who, time_point now);

  /// Nothing where the preemptor does not fit, whoever goes.
  std::optional<score> best();

private:
  using amounts = std::array<std::int64_t, 3>; ///< of cpu, gpu and pods
  using set = std::uint32_t;                   ///< of candidates, by position
  /// Called for seats that are enough; true ends the search.
  using visitor = std::function<bool(const seats&)>;

  void look_at(const node_names& nodes);
  std::vector<set> minimal_sets();
  bool for_each_seating(set gone, const visitor& visit);
  bool seat(std::size_t group, std::size_t node, std::int32_t lacking, const visitor& visit);
  /// The set's score, without a cascade where that is so for any of its seatings.
  score score_of(set gone, score at_best);
  ranks members_of(set gone) const;

  counted_cluster plain_;
  const preemptor& who_;
  std::vector<amounts> requests_; ///< by group

  std::vector<std::string> nodes_;      ///< of the domain at hand
  std::vector<std::size_t> candidates_; ///< their ranks
  rooms as_it_is_;
  std::vector<amounts> room_; ///< by node, while seats are looked for
  seats taken_;
};

} // namespace reprieve::tests
