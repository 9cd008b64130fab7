#pragma once

#include "preemption/pipeline/cascade.hpp"
#include "preemption/pipeline/explain.hpp"
#include "preemption/pipeline/policy.hpp"
#include "preemption/problem/effort.hpp"
#include "preemption/room/seating.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// The one that may trigger preemption among those that wait, given in the order they are served
/// (`served_before`): the first that is a session (docs/policies.md#sessions). Pods bound to a node
/// have a policy of their own and stand in nobody's way; one that must not preempt keeps its place
/// at the front.
std::optional<std::size_t> front_of_queue(std::span<const preemptor* const> waiting);

/// Marks who is at the front and who is not, among units of which `who` is the preemptor: all that
/// one session waits for is at the front with it.
template <class Unit, class Who = std::identity>
void keep_to_the_front(std::vector<Unit>& waiting, Who who = {}) {
  std::vector<const preemptor*> line;
  for (auto& unit : waiting)
    line.push_back(&std::invoke(who, unit));
  const auto front = front_of_queue(line);
  for (auto& unit : waiting) {
    auto& one = std::invoke(who, unit);
    one.at_front = front && one.workload == line[*front]->workload;
  }
}

/// The front of the job queue while those that wait are served one by one in their order: the
/// session that is first found not to fit in free room. Only it may preempt; those behind it may
/// still be placed in what is left.
class front_of_line {
public:
  /// Where it is known already who is at the front.
  explicit front_of_line(std::optional<std::string> session = std::nullopt)
      : session_(std::move(session)) {}

  bool has(const preemptor& who) const {
    return !session_ || *session_ == who.workload;
  }
  void served(const preemptor& who, const plan& made);

  const std::optional<std::string>& session() const {
    return session_;
  }

private:
  std::optional<std::string> session_;
};

/// Looks for sessions to preempt if the preemptor is at the front of the job queue.
plan preempt_sessions(const problem& given);

/// The sessions policy (docs/policies.md#sessions): running sessions up to a priority go one by
/// one, in a fixed order, until there is a place for the pending one.
class sessions final : public policy {
public:
  explicit sessions(const problem& given);

  std::string_view name() const override {
    return "sessions";
  }

  /// The whole resource group, or the domains of the preemptor's topology keys.
  domain_set domains() const override;
  attempt try_domain(const domain& where) override;

  const candidate_rules& rules() const override {
    return rules_;
  }

private:
  /// A running session, in the line of those that go. It goes whole, wherever it runs.
  struct session {
    std::vector<portion_row> portions;
    std::int32_t priority = 0;  ///< the highest in it
    time_point start = no_time; ///< the earliest; in the end of time where it has not started yet
    portion_id id;              ///< of the first
  };

  /// Who may go from the domain, the first to go first.
  std::vector<session> line_of(const domain& where);
  session session_of(portion_row p) const;
  void vacate(const session& one);
  /// Those among them whose going is of any use: on some node that would take a pod of the
  /// preemptor with all of them gone, they hold something that can be short there. `room_` has them
  /// gone.
  std::vector<portion_row> of_use_in(const domain& where);
  bool takes_a_pod(std::size_t position) const;
  bool frees_what_is_short(pod_row p) const;
  /// How many of the line have to go, from its front; with all of them gone there is room. Nothing
  /// where the budget of the search ended before any number was found.
  std::optional<std::size_t> enough_of(std::span<const session> line, effort& spent);
  void evict(std::span<const session> gone, attempt& made);
  std::string why_goes(const evicted_portion& one, std::size_t turn, std::size_t of) const;

  const problem& given_;
  candidate_rules rules_;
  cascade_check cascade_;
  domain_room room_;
  std::vector<wide_int> asked_in_all_; ///< by all pods that are needed, by column
};

} // namespace reprieve
