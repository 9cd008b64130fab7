#pragma once

#include "preemption/cycle/cycle.hpp"
#include "preemption/policies/lifecycle/lifecycle_cycle.hpp"
#include "preemption/snapshot/snapshot.hpp"

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

class snapshot_port;

/// What came of one that waits when it was its turn.
struct turn_taken {
  std::string id; ///< stands for a decision's
  std::string resource_group;
  preemptor who;
  plan made;
  std::vector<given_up> gives_up;
};

/// What a queue gives back because it uses more than it may keep.
struct pods_taken_back {
  std::string id; ///< stands for a decision's
  std::string resource_group;
  queue_outcome from;
};

/// The queues of a snapshot with one group's part of their limits, and what these pods use in them.
queue_stage_input queues_in(const snapshot& taken, const resource_group& group,
                            std::span<const pod> pods, const cluster_view& view);

/// Of what leaves in the group, that is not asked for twice: by workload, what its pods ask for
/// that wait.
void add_waiting_again(queue_stage_input& in, const snapshot& taken, std::string_view group,
                       std::span<const pod> pods, const by_name<resources>& wanted);

/// The scheduling cycle over a snapshot: the one that the coordinator runs on a live cluster.
class snapshot_cycle {
public:
  explicit snapshot_cycle(const snapshot& taken);

  /// The cycle of the settings' resource group, for all that wait there but those left out, and
  /// those whose replicas the cluster counts.
  void run(const plan_settings& settings,
           const std::function<bool(std::string_view workload)>& left_out = {});
  /// Serves those alone, in the order they are given in. Among sessions only the front of the line
  /// may preempt (docs/policies.md#sessions).
  void serve(std::vector<preemptor> waiting, const plan_settings& settings,
             front_of_line line = front_of_line{});

  /// Who is at the front of all that wait in the group, for one that is served alone.
  front_of_line line_in(const plan_settings& settings) const;

  const std::vector<turn_taken>& turns() const {
    return turns_;
  }
  const std::vector<pods_taken_back>& taken_back() const {
    return taken_back_;
  }
  /// The decisions that were given up before anybody was served, as they had lost their ground.
  const std::vector<given_up>& groundless() const {
    return groundless_;
  }
  /// How the queues stood in each group when its cycle began.
  const by_name<queue_stage_result>& queues() const {
    return queues_;
  }
  /// What is decided of replica counts, before anybody's turn, in groups whose cluster has a
  /// scheduler of its own (docs/policies.md#lifecycle).
  const by_name<lifecycle_outcome>& replicas() const {
    return replicas_;
  }
  /// All groups, with all that was decided.
  cluster_view whole_view() const;

private:
  friend class snapshot_port;

  /// What is reserved for others keeps its room, but before those who come first anyway.
  void keep_reservations(std::span<const preemptor> served, snapshot_port& port) const;

  std::shared_ptr<const workload_record> record_of(std::string_view workload) const;
  void count_replicas(const plan_settings& settings);
  std::set<std::string> drop_groundless(const plan_settings& settings);
  void tell_sleepers(const plan_settings& settings,
                     const std::function<bool(std::string_view)>& left_out);
  /// What the workload lacks with what was decided.
  std::vector<preemptor> lacking(const workload_record& record,
                                 resources* held_back = nullptr) const;
  std::string next_id() const;

  const snapshot& taken_;
  std::vector<pod> pods_; ///< of all groups, as they are with what was decided
  std::vector<turn_taken> turns_;
  std::vector<pods_taken_back> taken_back_;
  std::vector<given_up> groundless_;
  by_name<queue_stage_result> queues_;
  by_name<lifecycle_outcome> replicas_;
  front_of_line front_; ///< among sessions, once the cycle has run
};

/// Puts what came of the turn into the view: its placements and the room that it reserves are held,
/// its victims leave, and what it gives up is undone, in `pods` too.
void carry_out(const turn_taken& turn, std::vector<pod>& pods, cluster_view& view);

} // namespace reprieve
