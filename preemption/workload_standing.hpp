#pragma once

#include "preemption/pending.hpp"
#include "preemption/queue_stage.hpp"
#include "preemption/unit_run.hpp"
#include "state/decision.hpp"
#include "state/number_ranges.hpp"
#include "state/pod_list.hpp"
#include "state/workload_record.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace reprieve {

/// What the standing of a workload depends on beside its record and its pods.
class standing_ground {
public:
  virtual ~standing_ground() = default;
  /// Whether an open decision takes the pod: until its workload knows that, nobody comes in its
  /// stead.
  virtual bool goes(std::string_view uid) const = 0;
  /// Calls `use` with every portion of the workload that open decisions take.
  virtual void each_going(const std::string& workload,
                          const std::function<void(const portion_id&)>& use) const = 0;
  /// Where a pod stands.
  virtual const node* node_of(const pod& p) const = 0;
  /// Whether what leaves counts as leaving.
  virtual bool counts_leaving() const {
    return true;
  }
};

/// What a workload's record and its pods come to: what they take, who of them is not wanted, what
/// is lacking. Kept as pods and slots change, so that a change costs what is new in it, however
/// many pods there are. Of gangs, and of groups bound to a node, all is found anew when one of them
/// changes.
class workload_standing {
public:
  // -- changes ------------------------------------------------------------------------------------

  /// The record, null where there is none; and whether the cluster counts its replicas by itself.
  void put_record(std::shared_ptr<const workload_record> record, bool left_to_cluster,
                  const standing_ground& on);
  /// The pod stands on its node, or has changed there.
  void put_pod(const pod_list::pointer& p, const standing_ground& on);
  void remove_pod(std::string_view uid, const standing_ground& on);
  /// Other decisions than before take the portion, or none.
  void look_at(const portion_id& portion, const standing_ground& on);

  // -- what it comes to ---------------------------------------------------------------------------

  const std::shared_ptr<const workload_record>& record() const {
    return record_;
  }
  bool has_pods() const {
    return !pods_.empty();
  }
  /// The pod as it stands, or null.
  const pod* find(std::string_view uid) const;
  template <class F>
  void each_pod(F use) const {
    for (const auto& [uid, one] : pods_)
      use(one.shown->what());
  }

  /// What its pods take; nothing where there is no record.
  const queue_totals& used() const {
    return used_;
  }
  /// Of that, what nobody wants at its place any more.
  const resources& unwanted_for_good() const {
    return unwanted_for_good_;
  }
  /// Whether there are pods that are not wanted and were not told to go; and those of them that
  /// came or changed since they were last taken.
  bool has_unwanted() const {
    return !unwanted_.empty();
  }
  bool has_new_unwanted() const {
    return !new_unwanted_.empty();
  }
  std::vector<victim_pod> take_new_unwanted();
  /// What was done about them may have been lost: all of them count as new.
  void look_at_unwanted_again() {
    new_unwanted_ = unwanted_;
  }
  /// When the last of those was told that leave.
  time_point told() const {
    return told_.empty() ? no_time : told_.rbegin()->first;
  }

  /// Finds anew what of gangs is lacking, where that may have changed.
  void find_listed(const standing_ground& on);
  /// What lacks and may be asked for: unit by unit, and in runs.
  const std::vector<std::shared_ptr<const preemptor>>& listed() const {
    return listed_;
  }
  std::vector<std::shared_ptr<const unit_run>> runs() const;
  /// What will be asked for when others have settled.
  resources held_back() const;
  /// What would be listed if these were not there.
  std::vector<preemptor> listed_without(const std::set<std::string, std::less<>>& uids,
                                        const standing_ground& on) const;
  /// Whether the unit lacks its pods.
  bool lacks(const preemptor& who) const;

private:
  /// What a pod counts for.
  struct role {
    bool takes_room = false;
    bool leaves = false;
    bool unwanted_for_good = false;
    bool to_be_told = false;
    restlessness restless;
  };
  struct counted_pod {
    pod_list::pointer shown;
    role as;
    bool irregular = false; ///< it is not the one that the record says of its place
  };

  bool is_unwanted(const pod& p) const;
  bool is_irregular(const pod& p) const;
  bool has_listed_groups() const;
  std::vector<preemptor> lacking_of_listed(const std::set<std::string, std::less<>>& without,
                                           const standing_ground& on) const;
  role role_of(const pod& p) const;
  void count(const counted_pod& one, int sign, const standing_ground& on);
  void count_in(counted_pod& one, const standing_ground& on);
  void count_out(const counted_pod& one, const standing_ground& on);
  void count_all(const standing_ground& on);
  std::set<std::string> uids_at(const pod_slot& slot, const workload_record& before) const;
  void look_at(const pod_slot& slot, const standing_ground& on);
  void look_at_replica(const std::string& group, std::int32_t replica, const standing_ground& on);
  void look_at_all_slots(const standing_ground& on);
  void look_around(const pod& p, bool was_doomed, const standing_ground& on);

  std::shared_ptr<const workload_record> record_;
  bool left_to_cluster_ = false;
  std::unordered_map<std::string_view, counted_pod> pods_; ///< by uid, which they have themselves
  std::multimap<pod_slot, std::string> irregular_;         ///< uids by place

  queue_totals used_;
  resources unwanted_for_good_;
  std::map<std::string, std::string, std::less<>> unwanted_; ///< their nodes by uid
  std::map<std::string, std::string, std::less<>> new_unwanted_;
  std::map<time_point, std::int64_t> told_; ///< how many were told then
  restless_replicas restless_;

  /// What waits of a group, where that is not listed.
  struct group_runs {
    std::shared_ptr<unit_run> fresh; ///< have not been there before
    std::shared_ptr<unit_run> back;  ///< come back

    explicit operator bool() const {
      return fresh != nullptr;
    }
  };
  std::vector<group_runs> runs_;         ///< by the group's position
  std::vector<number_ranges> held_back_; ///< likewise, those that come when others have gone
  std::vector<std::shared_ptr<const preemptor>> listed_;
  std::set<std::string, std::less<>> listed_uids_; ///< of their first pods
  resources listed_held_back_;
  bool listed_outdated_ = true;
};

} // namespace reprieve
