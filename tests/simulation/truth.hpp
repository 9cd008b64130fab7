#pragma once

#include "actors/simulated/simulated_journal.hpp"
#include "protocol/records/records.hpp"
#include "state/store/store.hpp"
#include "tests/simulation/eviction_causes.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace reprieve::simulation {

inline bool is_on_a_machine(simulated_journal::stage at) {
  using stage = simulated_journal::stage;
  return at == stage::starting || at == stage::running || at == stage::stopping;
}

/// What the store and the machines hold, followed change by change, and what must be true of it
/// after every one (docs/architecture.md#invariants). It knows nothing of actors.
class truth {
public:
  /// What stands in one file, each as often as the others.
  static constexpr int objects_in_a_file = 4;
  static constexpr const char* of_a_file = "of-a-file-";

  /// The `generation`-th process starts with a program that knows the records up to this version.
  void starts(int generation, std::int32_t schema) {
    programs_[generation] = schema;
  }

  /// A transaction of the process that started as the `generation`-th was carried out.
  void written(const transaction& writes, revision at, int generation);

  /// The replica's record has gone with its lease.
  void record_gone(const std::string& replica) {
    owners_.erase(replica);
  }

  /// A pod on the machines is in a new stage of its life.
  void lived(const simulated_journal::entry& pod);

  /// Machines with pods that were started by orders, in order of name.
  std::vector<std::string> busy_machines() const;
  /// The pod's machine does not know it any more, and runs it no more.
  void forgot(const std::string& uid);

  /// A user was told that the workload is there, or that it is being deleted.
  void acknowledged(const workload& spec);
  void acknowledged_deletion(const std::string& name);
  /// A user has asked for something, or for the workload to go: until there is an answer, both may
  /// be true.
  void asked(const std::string& name, std::optional<workload> wanted);
  /// The answer was that nothing has changed, or there was none that tells.
  void refused(const std::string& name);
  void not_told(const std::string& name);
  /// The first thing that was not as it must be; empty so far.
  const std::string& broken() const {
    return broken_;
  }

  void complain(std::string what);

  /// Calls `tell` with each decision that is committed, and why it was made.
  void tell_decisions(std::function<void(const std::string&)> tell) {
    tell_ = std::move(tell);
  }

  /// Nobody asks for anything any more: from now on evictions have to come to an end.
  void calm_down() {
    calm_ = true;
  }

  /// Where the time is read.
  void keep_time(std::function<time_point()> now) {
    now_ = std::move(now);
  }

  /// People ask for one thing at a time: from now on every eviction for the sake of queues has to
  /// have a cause.
  void look_for_causes() {
    causes_.begin(now_());
  }
  /// The next of these.
  void begin_change() {
    preemptions_since_ = 0;
  }

  /// When nothing is under way any more: no decision is open, and the machines run what the
  /// records say.
  void check_rest();

  /// Whether a pod was told to stop and is there.
  bool does_anybody_leave() const;

  const std::map<std::string, node_record, std::less<>>& nodes() const {
    return nodes_;
  }
  const std::set<std::string>& resource_groups() const {
    return groups_;
  }
  const std::map<std::string, workload_record, std::less<>>& workloads() const {
    return workloads_;
  }
  const std::map<std::string, disruption_budget, std::less<>>& budgets() const {
    return budgets_;
  }
  const std::map<std::string, placement, std::less<>>& placements() const {
    return placements_;
  }
  const by_name<queue>& queues() const {
    return queues_;
  }
  const by_name<quota_record>& quota() const {
    return quota_;
  }
  /// The version of the records; 0 while there are none.
  std::int32_t schema() const {
    return schema_;
  }
  std::size_t open_decisions() const {
    return open_.size();
  }

  struct counters {
    std::size_t commits = 0;
    std::size_t preemptions = 0;
    std::size_t aborts = 0;
    std::size_t evictions = 0;
    std::size_t starts = 0;
  };
  std::string text_of_nodes() const;
  /// How often nodes and decisions were written: pods came, went or moved on.
  std::uint64_t moves() const {
    return moves_;
  }
  const counters& counted() const {
    return counted_;
  }

private:
  struct open_decision {
    decision_phase phase = decision_phase::preparing;
    decision what;
  };
  using wish = std::optional<workload>; ///< absent: it is to go
  struct expectation {
    wish spec; ///< absent: it goes, or has gone
    std::optional<wish> asked;
    bool unknown = false;
    /// What was asked for without an answer that tells: it may be on its way for long, and come
    /// after what was asked for later.
    std::vector<wish> loose;

    bool is_sure() const {
      return spec && !asked && !unknown;
    }
  };
  /// A replica whose record is there.
  struct owner {
    int generation = 0;
    std::set<std::string> owned;
  };

  void owner_written(const std::string& replica, const std::string& value, int generation);
  void check_files();
  void check_writer(const operation& one, std::span<const comparison> compared, int generation);
  void check_names();
  void carry_out(const operation& one);
  void check_that_the_last_has_gone(const simulated_journal::entry& pod);
  bool is_running(const std::string& uid) const; ///< on its machine
  const pod* record_of(const simulated_journal::entry& on_machine) const;
  std::set<std::string> made_good(const transaction& writes) const;
  void promise_counts(const std::string& shard, const sequence_record& batch);
  bool comes_late(const std::string& workload, const wish& now);
  void put_key(const std::string& key, const std::string& value);
  void erase_key(const std::string& key);
  void erase_range(const key_range& range);

  void node_written(node_record record);
  void check_room(const node_record& record);
  void check_told(const pod& p, const pod* before);
  void note_changes(const node_record* before, const node_record& now);
  void note_changes(const workload_record* before, const workload_record& now);
  void queue_written(queue record);
  void quota_written(const std::string& queue, quota_record record);
  void check_cause(const decision& d);
  void check_for_vain();
  time_point planned_by(std::string_view decision) const;
  void decision_written(const std::string& id, const std::string& value);
  void check_commit(const decision& d);
  void check_counts(const decision& d);
  void count_preemption(const decision& d);
  void load(open_decision& known, const decision_head& head);
  void check_wanted(const decision& d);
  void check_whole_portions(const decision& d);
  void check_gang(const decision& d);
  void decision_done(const std::string& value);
  void note_limits(const queue& record);
  void check_limits(const node_record* before, const node_record& now);
  void check_quota();
  bool waits_for_a_victim(const std::string& decision) const;
  void workload_written(const workload_record& record);
  void own_record_written(workload_record own);
  void page_written(const std::string& key, slot_page page);
  /// The workload with all of its slots.
  workload_record whole(workload_record own) const;
  void check_taken(const workload_record& before, const workload_record& now);
  bool is_going(const std::string& uid) const;

  std::string broken_;
  std::function<void(const std::string&)> tell_;
  std::map<int, std::int32_t> programs_; ///< versions that they know, by generation
  std::int32_t schema_ = 0;
  std::map<std::string, owner, std::less<>> owners_;       ///< by replica
  std::map<std::string, std::string, std::less<>> bodies_; ///< chunks by key
  std::map<std::string, open_decision, std::less<>> open_;
  std::map<std::string, decision, std::less<>> ended_;
  std::set<std::string> over_; ///< decisions whose keys have gone
  std::set<std::string> came_; ///< pods that were bound
  std::map<std::string, node_record, std::less<>> nodes_;
  std::map<std::string, workload_record, std::less<>> workloads_;
  std::map<std::string, slot_page, std::less<>> own_slots_; ///< that stand in their own records
  std::map<std::string, std::map<std::uint32_t, slot_page>, std::less<>> pages_;
  std::map<std::string, disruption_budget, std::less<>> budgets_;
  std::map<std::string, placement, std::less<>> placements_;
  by_name<queue> queues_;
  /// When a decision took some of a workload whom it names, by both.
  std::map<std::pair<std::string, std::string>, time_point> named_;
  std::set<std::string> moved_;    ///< workloads that have changed their queue, with what they have
  by_name<left_pods> left_behind_; ///< by node that was deleted by force
  /// By queue and resource, the highest limit that there ever was; none where there was a time
  /// without one.
  by_name<std::map<std::string, std::optional<std::int64_t>>> highest_limits_;
  by_name<quota_record> quota_;
  std::map<std::string, std::string, std::less<>> names_; ///< for which shard each is taken
  struct promise {
    std::vector<operation> writes;
    bool counts = false; ///< it is committed
  };
  std::map<std::string, promise> promises_;             ///< by key
  std::map<std::string, std::set<std::string>> shards_; ///< which have it, by the name's key
  std::set<std::string> groups_{"default"};             ///< of resources
  std::map<std::string, expectation, std::less<>> expected_;
  std::map<std::string, std::string, std::less<>> told_by_; ///< decision by uid
  std::map<std::string, simulated_journal::entry, std::less<>> machines_;
  std::map<std::string, resources, std::less<>> requests_; ///< by uid
  std::function<time_point()> now_;
  eviction_causes causes_;
  counters counted_;
  std::uint64_t moves_ = 0;
  bool calm_ = false;
  int preemptions_since_ = 0; ///< since it is calm
};

} // namespace reprieve::simulation
