#pragma once

#include "preemption/policies/queues/demand_by_queue.hpp"
#include "preemption/problem/preemptor.hpp"
#include "preemption/waiting/service_place.hpp"
#include "preemption/waiting/unit_run.hpp"
#include "state/containers/name_map.hpp"
#include "state/model/catalog.hpp"
#include "state/records/workload_record.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// A unit of a workload that lacks pods. Where there is no record, it stands outside all queues.
struct waiting_unit {
  std::shared_ptr<const workload_record> record;
  std::shared_ptr<const preemptor> who;
  /// Those that are alike and come after it, where it stands for them as well; else null.
  std::shared_ptr<const unit_run> run{};

  std::string_view queue() const {
    return record ? std::string_view(record->spec->queue) : std::string_view{};
  }
};

service_place place_of(const waiting_unit& unit, std::size_t position);

/// A unit with its place.
using placed_unit = std::pair<service_place, waiting_unit>;

/// Work that was stopped and comes back to its queue.
struct returning_work {
  service_place place;
  resources takes;
  /// When it may start again; of pods that still leave, when they were told to.
  time_point due = no_time;
  bool leaves = false;
};

/// Of what pods of a workload use that leave, what it waits for again already.
resources waits_again(const resources& leaving, const resources& wanted);

/// Whether the workload's pods come back that leave now.
bool comes_back(const workload_record& record, time_point now);

/// How things stood for a kind when it was set aside.
struct parked_reason {
  bool entitled = false;   ///< it was within what its queue deserves
  bool may_borrow = false; ///< it took nothing that is kept for others
  /// A quota that was in the way: a queue's limit, or what it deserves; how much that was, and what
  /// it had left, by column.
  struct obstacle {
    std::string queue;
    bool limit = false;
    std::vector<std::int64_t> allowed;
    std::vector<std::int64_t> left;
  };
  std::vector<obstacle> in_the_way;
  /// Others have their part of a limit already who wait for it: they use that only while the cycle
  /// runs.
  bool behind_kept = false;
  bool others_had_pods = false; ///< with nobody else there, no share is in the way
  /// What pods took that left, by column: they count in what others may keep until they have gone.
  std::vector<std::int64_t> leaving;
  /// What its queue deserved and did not use, where it would have gone with more than that as soon
  /// as others took theirs; empty where not.
  std::vector<std::int64_t> left_of_share;
  bool others_lacked_room = false;  ///< those whom it would have stopped had none elsewhere
  time_point look_again = no_time;  ///< in that case, as others may cost less by then
  bool crowded = false;             ///< some queue used more than it deserves
  std::vector<std::int64_t> excess; ///< how much more, where it was entitled to that
  /// Likewise, 1 for what there was not enough of, by column: queues keep what they deserve of
  /// that.
  std::vector<std::int64_t> scarce;
  /// How many decisions had been made: pods of those that were not over could not be victims.
  std::uint64_t decisions = 0;
  /// Less important ones were promised room before it in the same cycle: it could take that, or
  /// what they take of its quota, from the next on.
  bool others_promised = false;
};

/// All that wait in a resource group, by queue and in the order in which they are served. Units
/// that ask for the same in the same queue with the same priority are of one kind: where there was
/// nothing for one of them there is nothing for the others, so the kind is set aside as a whole
/// until something changes that could help it. A cycle looks at kinds, however many units they
/// have.
class waiting_line {
public:
  enum class order : std::uint8_t {
    by_kind,    ///< a kind has its turn with its first unit
    one_by_one, ///< each unit has its turn, and nobody is set aside
  };
  explicit waiting_line(order order = order::by_kind) : order_(order) {}

  /// In place of all units that the workload had.
  void put(const std::string& workload, std::vector<waiting_unit> units);

  /// Units whose time has not come are left out until `now` reaches it.
  void wake_sleepers(time_point now);
  /// Calls `use(unit, wanted, count)` for everybody whose time has not come: so many that each want
  /// that.
  template <class F>
  void each_asleep(F use) const {
    for (const auto& [due, workload] : asleep_)
      for (const auto& one : by_workload_.find(workload)->second.entries)
        if (one.asleep && one.due == due)
          use(one.unit, one.wanted, one.count);
  }
  /// Those of a queue that are due by then.
  std::vector<returning_work> asleep_in(std::string_view queue, time_point until) const;
  /// Whether one of a queue comes before that place once it is due.
  bool is_any_asleep_before(std::string_view queue, const service_place& place) const;
  /// When the next of them is due; `no_time` where there is none.
  time_point next_due() const;

  /// Sets all units of this one's kind aside, where they are alike.
  void park(const waiting_unit& unit, parked_reason why);
  /// Why the unit's kind is set aside; null where it is not.
  const parked_reason* parked(const waiting_unit& unit) const;

  struct kind {
    std::map<service_place, waiting_unit> units; ///< of runs the first
    std::int64_t count = 0;                      ///< of all units, those of runs too
    std::set<service_place> runs;                ///< where they begin
    mutable std::optional<service_place> last;   ///< of its units, if it was asked for
    std::optional<parked_reason> aside;
    resources wanted; ///< by one unit
    std::string queue;
    /// What `judge_kinds` found.
    struct finding {
      bool ever_runs = true;
      std::vector<std::int64_t> asked;               ///< by the columns that shares have
      std::vector<std::int64_t> wanted;              ///< likewise
      std::vector<std::vector<std::int64_t>> groups; ///< a pod of each, by the nodes' columns
    };
    finding found;
    std::uint64_t judged_on = 0;
  };
  using kinds = std::map<std::string, kind, std::less<>>;

  const kinds& all_kinds() const {
    return kinds_;
  }
  /// Asks what is to be known of kinds, where that was not asked of the nodes of this number, in
  /// these columns, before.
  template <class Find>
  void judge_kinds(std::uint64_t nodes, const std::vector<std::string>& columns, Find find) {
    const bool anew = columns != columns_;
    columns_ = columns;
    for (auto& [key, one] : kinds_) {
      if (anew)
        one.judged_on = 0;
      if (one.units.empty() || one.judged_on == nodes)
        continue;
      one.found = find(one);
      one.judged_on = nodes;
    }
  }
  /// The kinds in a queue, with their keys.
  auto kinds_in(std::string_view queue) const {
    const auto first = std::string(queue) + '\x1f';
    const auto last = std::string(queue) + '\x20';
    return std::ranges::subrange(kinds_.lower_bound(first), kinds_.lower_bound(last));
  }
  /// Takes those kinds back for which `helps` holds, and tells which.
  template <class Helps>
  std::vector<std::string> wake(Helps helps) {
    std::vector<std::string> woken;
    for (auto& [key, one] : kinds_)
      if (one.aside && !one.units.empty() && helps(one)) {
        one.aside.reset();
        woken.push_back(key);
      }
    return woken;
  }

  /// What all who wait ask for, by queue. Those whose time has not come are counted: what
  /// queues deserve must not change because somebody pauses, or those who have its room meanwhile
  /// would have to go when it comes back.
  const by_name<resources>& asked() const {
    return asked_.told();
  }

  /// Everybody who waits and is of no kind with others, by queue.
  using units_by_place = std::map<service_place, waiting_unit>;
  const std::map<std::string, units_by_place, std::less<>>& fresh() const {
    return fresh_;
  }

  /// The next unit of the kind behind that place, or nothing.
  static std::optional<placed_unit> next_of(const kind& of, const service_place& behind);
  /// The place of the last unit of the kind; null where it has none.
  static const service_place* last_of(const kind& of);
  /// Likewise, of those before that place.
  static std::optional<service_place> last_before(const kind& of, const service_place& before);
  /// The next of a run that is of no kind with others, likewise.
  std::optional<placed_unit> next_of_run(const waiting_unit& of, const service_place& behind) const;

  /// Up to which decision all were over when arrivals were looked at last.
  std::uint64_t settled() const {
    return settled_;
  }
  void settle(std::uint64_t decisions) {
    settled_ = decisions;
  }

  /// The unit that has the same first pod, by itself, whether its time has come or not.
  std::optional<waiting_unit> find_like(const preemptor& who) const;
  /// The unit of the workload that is served last; of those whose time has come, where there are.
  std::optional<waiting_unit> last_of(std::string_view workload) const;

  std::size_t size() const {
    return size_;
  }
  /// How many of them are the queue's.
  std::int64_t size_of(std::string_view queue) const;
  /// Everybody, in the order in which they are served where queues do not matter.
  std::vector<waiting_unit> in_order() const;
  /// Everybody, in no order; of runs the first.
  template <class F>
  void each(F use) const {
    for (const auto& [workload, units] : by_workload_)
      for (const auto& one : units.entries)
        use(one.unit);
  }

private:
  struct entry {
    service_place place;
    waiting_unit unit;
    std::string kind; ///< empty where it is of none
    resources wanted; ///< by each of its units
    std::int64_t count = 1;
    time_point due = no_time;
    bool asleep = false;
    std::uint64_t changes = 0; ///< of its run, by then

    /// Whether it is that unit, and that has not changed since.
    bool is_of(const waiting_unit& other) const;
  };
  struct units_of_workload {
    std::vector<entry> entries;
    name_map<std::size_t> by_uid; ///< positions of those that are no runs, by first uid
  };

  std::set<std::string> exchange(const std::string& workload, std::vector<waiting_unit> units);
  void add(const entry& one);
  void remove(const entry& one);
  void count(const entry& one, std::int64_t sign);
  const entry* find(const preemptor& who) const;

  order order_;
  name_map<units_of_workload> by_workload_;
  std::map<std::string, units_by_place, std::less<>> fresh_; ///< by queue
  kinds kinds_;
  std::set<std::pair<time_point, std::string>> asleep_; ///< workloads by when they are due
  by_name<std::set<service_place>> places_asleep_;      ///< theirs, by queue
  demand_by_queue asked_;
  name_map<std::int64_t> by_queue_;  ///< how many there are
  std::vector<std::string> columns_; ///< in which kinds were judged
  std::uint64_t settled_ = 0;
  time_point now_ = no_time;
  std::size_t size_ = 0;
};

/// What all units have in common that ask for the same; nothing where what a unit finds depends on
/// more than that: on its own pods or its node.
std::optional<std::string> kind_of(const waiting_unit& unit);

} // namespace reprieve
