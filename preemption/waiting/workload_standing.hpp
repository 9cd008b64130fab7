#pragma once

#include "preemption/policies/queues/queue_stage.hpp"
#include "preemption/waiting/pending.hpp"
#include "preemption/waiting/unit_run.hpp"
#include "state/containers/number_ranges.hpp"
#include "state/containers/rarely_set.hpp"
#include "state/model/decision.hpp"
#include "state/records/pod_list.hpp"
#include "state/records/workload_record.hpp"

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
/// many pods there are. Of a replica of its gangs all is found anew when something of it changes.
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
    return going_->unwanted_for_good;
  }
  /// Whether there are pods that are not wanted and were not told to go; and those of them that
  /// came or changed since they were last taken.
  bool has_unwanted() const {
    return !going_->unwanted.empty();
  }
  bool has_new_unwanted() const {
    return !going_->new_unwanted.empty();
  }
  std::vector<victim_pod> take_new_unwanted();
  /// What was done about them may have been lost: all of them count as new.
  void look_at_unwanted_again();
  /// When the last of those was told that leave.
  time_point told() const {
    return going_->told.empty() ? no_time : going_->told.rbegin()->first;
  }

  /// Finds anew what of gangs is lacking, where that may have changed.
  void find_listed(const standing_ground& on);
  /// What lacks and may be asked for: unit by unit, and in runs.
  std::vector<std::shared_ptr<const preemptor>> listed() const;
  std::vector<std::shared_ptr<const unit_run>> runs() const;
  /// What will be asked for when others have settled.
  resources held_back() const;
  /// What its gangs would ask for if these were not there, of the replicas that have them.
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
  bool may_list() const;
  std::vector<preemptor> lacking_of(std::int32_t replica,
                                    const std::set<std::string, std::less<>>& without,
                                    const standing_ground& on) const;
  bool lacks_all_of(std::int32_t replica, const std::vector<preemptor>& units) const;
  void find_listed(std::int32_t replica, const standing_ground& on);
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

  /// What of the pods goes, or is to go.
  struct going_pods {
    resources unwanted_for_good;
    std::map<std::string, std::string, std::less<>> unwanted; ///< their nodes by uid
    std::map<std::string, std::string, std::less<>> new_unwanted;
    std::map<time_point, std::int64_t> told; ///< how many were told then

    bool empty() const {
      return unwanted_for_good.empty() && unwanted.empty() && new_unwanted.empty() && told.empty();
    }
  };
  /// What waits of a group that waits as runs, null where nothing does; and the numbers of those
  /// that come when others have gone.
  struct waiting_group {
    std::shared_ptr<unit_run> fresh; ///< have not been there before
    std::shared_ptr<unit_run> back;  ///< come back
    number_ranges held_back;
  };
  /// What waits of a replica of the gangs.
  struct listed_units {
    std::vector<std::shared_ptr<const preemptor>> units;
    resources held_back;

    bool empty() const {
      return units.empty() && held_back.empty();
    }
  };

  void set_waiting(std::shared_ptr<unit_run>& run, std::size_t group, unit_run::of whom,
                   unit_run::number one, bool waits);

  std::shared_ptr<const workload_record> record_;
  bool left_to_cluster_ = false;
  std::unordered_map<std::string_view, counted_pod> pods_; ///< by uid, which they have themselves
  rarely_set<std::multimap<pod_slot, std::string>> irregular_; ///< uids by place
  queue_totals used_;
  rarely_set<going_pods> going_;
  rarely_set<restless_replicas> restless_;
  std::vector<waiting_group> waiting_;                      ///< by the group's position
  rarely_set<std::map<std::int32_t, listed_units>> listed_; ///< by replica, of those in no run
  rarely_set<std::set<std::int32_t>> outdated_; ///< replicas whose units are to be found
};

} // namespace reprieve
