#pragma once

#include "preemption/holds.hpp"
#include "preemption/sessions.hpp"
#include "preemption/snapshot.hpp"
#include "preemption/turn.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What came of one that waits when it was its turn.
struct turn_taken {
  std::string id; ///< stands for a decision's
  std::string resource_group;
  preemptor who;
  plan made;
  std::vector<given_up> gives_up;
};

/// One scheduling cycle over a snapshot, as the coordinator runs it on a live cluster.
///
/// Whoever waits is served strictly in turn, the most important first: it is placed in free room,
/// else with victims, else it goes on waiting; and whoever comes later sees what those before it
/// hold. So nobody takes the room that a more important one needs together with its victims.
class snapshot_cycle {
public:
  explicit snapshot_cycle(const snapshot& taken);

  /// Serves those, in the order they are given in, in the resource group of the settings. Among
  /// sessions only the front of the line may preempt (DESIGN 3.6).
  void serve(std::vector<preemptor> waiting, const plan_settings& settings,
             front_of_line line = front_of_line{});

  /// Who is at the front of all that wait in the group, for one that is served alone.
  front_of_line line_in(const plan_settings& settings) const;

  const std::vector<turn_taken>& turns() const {
    return turns_;
  }
  /// All groups, with all turns taken.
  cluster_view whole_view() const;

private:
  std::optional<held_back> why_back(const preemptor& who, time_point now) const;
  /// Where the snapshot does not say, a node counts as reserved since the workload was submitted:
  /// the coordinator reserves it as soon as it sees the pod.
  time_point reserved_since(const preemptor& who) const;
  void count(const pod& p, std::int64_t sign);
  void count(const turn_taken& turn, std::span<const held_decision> holds);

  const snapshot& taken_;
  std::vector<pod> pods_; ///< as they were, but for what was given up
  usage_by_queue used_;
  std::vector<turn_taken> turns_;
};

/// Puts what came of the turn into the view: its placements and the room that it reserves are held,
/// its victims leave, and what it gives up is undone, in `pods` too.
void carry_out(const turn_taken& turn, std::vector<pod>& pods, cluster_view& view);

} // namespace reprieve
