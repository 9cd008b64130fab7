#pragma once

#include "preemption/cycle/holds.hpp"
#include "preemption/cycle/judgement.hpp"
#include "preemption/policies/queues/group_shares.hpp"
#include "preemption/policies/queues/queue_stage.hpp"
#include "preemption/policies/sessions/sessions.hpp"
#include "preemption/waiting/waiting_line.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// What a scheduling cycle is run on and what comes of it. The cluster may be whole, as in a
/// snapshot, or in shards that are asked: the cycle is the same. Whatever the cycle decides shows
/// in all that it asks for afterwards.
class cycle_port : public judgement_port {
public:
  /// Everybody who waits; kept from cycle to cycle with what is set aside there.
  virtual waiting_line& line() = 0;
  /// Whether the unit lacks its pods even now: a decision made since may have taken those that it
  /// was to join.
  virtual bool still_lacks(const preemptor& who) = 0;
  /// The queues with the group's part of their limits, what their pods use, the capacity. Of what
  /// waits only what is not in the line, and without pods.
  virtual queue_stage_input queue_input() = 0;
  /// Work of the queue that was stopped and comes back by then, or whose pods still leave.
  virtual std::vector<returning_work> returning(std::string_view queue, time_point until) = 0;
  /// Whether there may be such work that comes before that place.
  virtual bool may_return_before(std::string_view queue, const service_place& place) = 0;
  /// What changed since this was last asked in a way that could help somebody.
  struct changes {
    /// Nodes that are others by now, or on which somebody left, leaves, or may go at last.
    std::vector<node_row> freed;
    std::vector<node_row> arrived; ///< somebody came to stay who could not be a victim before
    /// Queues whose pods use less, or some of whose pods may go at last.
    std::set<std::string, std::less<>> lighter;
    /// Queues in which somebody came to stay, with the lowest priority of those.
    by_name<std::int32_t> arrivals;
    bool rules = false; ///< the queues or the group's settings are others
  };
  virtual changes take_changes() = 0;
  /// Another number when nodes have come, gone or changed, from 1 on.
  virtual std::uint64_t nodes_seen() = 0;
  /// When time alone lets somebody go next who may not go now (docs/policies.md#guards); `no_time`
  /// where it does not.
  virtual time_point next_release() = 0;
  /// How many decisions were made so far, and up to which of them all are over.
  virtual std::uint64_t decisions_made() = 0;
  virtual std::uint64_t decisions_over() = 0;
  /// Whether kinds of units that find nothing are set aside; else each is told why it waits.
  virtual bool sets_aside() = 0;
  /// A decision whose pods wait until others have gone, and the unit that it is for.
  struct awaited_room {
    service_place place;
    std::string decision;
    waiting_unit unit;
  };
  /// Of those that stood when the cycle began and can still be given up, at least the first of each
  /// kind of units behind that place.
  virtual std::vector<awaited_room> awaiting(const service_place& behind) = 0;

  /// The unit gets free room, or room that others leave anyway.
  virtual void place(const waiting_unit& unit, plan made) = 0;
  /// The unit gets its room once the victims have gone.
  virtual void preempt(const waiting_unit& unit, plan made) = 0;
  /// These decisions are given up for the unit, whose plan comes next.
  virtual void take_holds(const waiting_unit& unit, const std::vector<given_up>& holds) = 0;
  /// The decision is given up, as there is room for its unit without waiting: the unit, whose plan
  /// comes next. Nothing where the decision is over, or past giving up.
  virtual std::optional<waiting_unit> take_back_nomination(const awaited_room& one,
                                                           std::string reason) = 0;
  /// These decisions are given up, as their queues may not keep what they would place.
  virtual void take_back_nominations(const std::vector<given_up>& which) = 0;
  /// The queue's pods that go because it uses more than it may keep.
  virtual void take_back(const queue_outcome& from) = 0;
  /// Since when the required node is reserved for the unit's pod, and the room that it keeps there.
  virtual void reserve(const preemptor& who, const plan& made) = 0;
  /// The unit goes on waiting. The sentence in the plan is empty where nobody asked for it.
  virtual void waits(const waiting_unit& unit, plan made) = 0;
  virtual void look_again(time_point when) = 0;
  /// How many units of runs may have places in this cycle. Where it is none, the end of a decision
  /// brings the next cycle.
  virtual std::int64_t most_of_runs() {
    return unit_run::served_at_once;
  }
};

/// One scheduling cycle of a resource group (docs/policies.md).
///
/// First the queue stage: queues that use more than they may keep give pods back. Then whoever
/// waits is served. Within a queue strictly in turn, the most important first; between queues,
/// those come first that are within what their queue deserves, then those after whom one of their
/// queue comes who is: whoever borrowed before them would have to give it back at once. Each is
/// placed in free room, else with victims, else it goes on waiting; and whoever comes later sees
/// what those before it hold, so that nobody takes the room that another was promised.
///
/// Whoever waits for others to go has its turn, too: where there is free room for it by now, it
/// starts there, and what they leave is for the next in line. Nobody is stopped for that.
///
/// Where the port has to ask shards first, `run` returns false, and is called again when they have
/// answered.
class scheduling_cycle {
public:
  /// Which of the queues is served next, the highest first.
  enum class precedence : std::uint8_t {
    others,
    has_entitled, ///< one behind its first is within what the queue deserves
    is_entitled   ///< its first is
  };
  struct turn_of {
    service_place place{std::numeric_limits<std::int32_t>::max(),
                        std::numeric_limits<std::int32_t>::max(),
                        no_time,
                        {},
                        0};
    precedence before = precedence::is_entitled;
  };

  scheduling_cycle(cycle_port& port, plan_settings settings);

  /// Runs the cycle, or goes on with it. Whether it is through.
  bool run();

  /// Runs it for these alone, in this order, with who else waits counted in.
  void serve_only(const std::vector<waiting_unit>& units, front_of_line line);
  const front_of_line& front() const {
    return front_;
  }

  /// Somebody waits until others have gone within a limit, and has its part of that already.
  struct kept_part {
    turn_of turn;
    std::string queue;
    resources takes;
  };
  const std::vector<kept_part>& kept_for_limits() const {
    return kept_;
  }

  /// Why the unit waits, as things stand now and where the newest cycle kept so much; nothing is
  /// done about it.
  std::string why_waits(const waiting_unit& unit, std::span<const kept_part> kept = {},
                        bool at_front = true);

  /// How the queues stood when the cycle began.
  const queue_stage_result& queues() const {
    return queues_;
  }
  bool decided_anything() const {
    return decided_;
  }

private:
  /// Somebody whose turn may come: one that is of no kind with others, or a kind by its first.
  struct candidate {
    service_place place;
    waiting_unit unit;
    std::string kind; ///< the key of its kind, empty where it is of none

    bool operator<(const candidate& other) const {
      return other.place < place; // the heap has the first on top
    }
  };
  /// A kind that is set aside. Its units are not served, but have their turn all the same: whoever
  /// comes after one of them in the same queue comes after it.
  struct kind_aside {
    std::string key;
    group_shares::amounts_by_column asked;
  };
  struct queue_line {
    std::vector<candidate> heap;
    group_shares::amounts_by_column asked; ///< by the first of them
    std::size_t leaf = no_vertex;
    std::vector<kind_aside> aside;
    /// The last unit set aside before the first, of those that are not within what the queue
    /// deserves; and up to which these had their turn.
    std::optional<service_place> behind;
    std::optional<service_place> passed;
    /// One that is within what the queue deserves, if it still is; and that nobody is, which holds
    /// until somebody gives room back.
    std::optional<std::pair<service_place, group_shares::amounts_by_column>> entitled;
    bool nobody_entitled = false;
    /// Where many wait in it: how many pods of it have got a place, and whether more have to wait
    /// until others were heard.
    std::int64_t served_of_many = 0;
    bool pauses = false;
  };
  void begin();
  /// Whether somebody goes because of it.
  bool run_queue_stage(queue_stage_input& in);
  std::vector<given_up> nominations_to_take_back(const queue_outcome& from,
                                                 const by_name<queue>& queues);
  void take_back_nominations(const std::vector<given_up>& which);
  void let_wait(std::span<const given_up> which);
  void share_out(queue_stage_input& in);
  void count_kept(const waiting_unit& unit, std::span<const kept_part> kept);
  bool is_kept_below(std::span<const group_shares::obstacle> obstacles) const;
  /// What one of those who wait asks for, or several that are alike.
  struct wish {
    std::string_view queue;
    const group_shares::amounts_by_column* asked = nullptr;
    const group_shares::amounts_by_column* each = nullptr;
    std::int64_t units = 1;
  };
  by_name<resources> real_demand(queue_stage_input& in);
  static void add_wishes(by_name<resources>& to, std::span<const std::string> columns,
                         std::span<const wish> wishes);
  bool ever_runs(const waiting_unit& unit) const;
  /// What one of the kind asks for, until this is called again.
  const group_shares::amounts_by_column& asked_of(const waiting_line::kind& of);
  /// Takes kinds back that changes could help, and lines up their units behind that place.
  void wake_kinds(const turn_of* behind);
  bool is_any_entitled(std::string_view queue, std::size_t leaf, const service_place& behind);
  bool move_to_free_room(const service_place* before);
  std::vector<cycle_port::awaited_room> next_awaiting();
  void looked_up_to(const service_place& place);
  bool has_free_room(const waiting_unit& unit);
  bool could_help(const waiting_line::kind& of, std::span<const node_row> nodes) const;
  /// Whether the kind is held back by a quota and others who share that make it easier.
  bool quota_eased(const waiting_line::kind& of, std::span<const group_shares::obstacle> obstacles,
                   const cycle_port::changes& changed) const;
  void line_up();
  /// Sessions find something or nothing by who is at the front, and not by what they ask for alone.
  bool sets_kinds_aside() const;
  void set_aside(const std::string& key, const waiting_line::kind& of);
  void find_who_is_before(queue_line& line);
  void look_at_front(queue_line& line);
  /// Whether there is no other queue whose turn it could be, or could have been.
  bool is_only_line() const {
    return lines_.size() == 1 && !others_aside_;
  }
  queue_line* next_line();
  /// Whether the line may be next although others pause: nobody of it comes before those who should
  /// be after them.
  bool may_come_between(queue_line& line) const;
  /// How many pods of a queue in which many wait may get a place in a cycle.
  std::int64_t most_of_many() const;
  precedence precedence_of(queue_line& line) const;
  /// Whether its first is within what its queue deserves.
  bool is_entitled(const queue_line& line) const;
  bool has_entitled(queue_line& line) const;
  /// What came of a unit's turn.
  enum class turn_result : std::uint8_t {
    asks,    ///< shards are asked first
    decided, ///< it has its place
    passes,  ///< it has nothing, and others that are alike have their turn
    waits,   ///< there is nothing for it, nor for others that are alike
    parked   ///< likewise, and all of its kind are set aside
  };
  turn_result serve(const waiting_unit& unit);
  int& found_nothing_at_node(const preemptor& who);
  void advance(queue_line& line, turn_result found);
  void line_up_next(queue_line& line, const candidate& of, const service_place& behind);
  void line_up_passed_over(const turn_of& behind);
  bool lacks_its_pods(const waiting_unit& unit);
  /// Whether it has to wait until others have gone, as a limit has no room for all of them.
  bool waits_for_a_limit(const waiting_unit& unit, judgement& made);
  void others_go();
  bool may_park(const waiting_unit& unit) const;
  /// What more important work of its queue takes that comes back soon, and work of others.
  claims claims_before(const waiting_unit& unit);
  const std::vector<returning_work>& returning_to(const std::string& queue);
  const claims::by_leaf& coming_soon();
  bool comes_soon(const returning_work& one) const;
  parked_reason reason_to_park(const waiting_unit& unit, const judgement& made) const;
  void note_promised(const waiting_unit& unit);
  /// Whether less important ones have room since the cycle began that it could take in the next.
  bool could_take_promised(const waiting_unit& unit, const parked_reason& why) const;

  cycle_port& port_;
  plan_settings settings_;
  by_name<resources> demand_; ///< that waits, by queue
  queue_stage_result queues_;
  std::optional<group_shares> shares_;
  std::optional<unit_judge> judge_;
  mutable std::map<std::string, bool> ever_runs_; ///< by kind, of units that are not set aside
  group_shares::amounts_by_column asked_;
  front_of_line front_; ///< who may preempt in a group with sessions (docs/policies.md#sessions)
  std::map<std::string, queue_line, std::less<>> lines_;                      ///< by queue
  std::map<std::string, std::vector<returning_work>, std::less<>> returning_; ///< likewise
  std::optional<claims::by_leaf> coming_soon_;
  /// Those who wait for others to go, the first at the end, and up to which they had their turn.
  std::optional<std::vector<cycle_port::awaited_room>> awaiting_;
  service_place looked_at_ = turn_of{}.place;
  /// Kinds set aside that were within what their queues deserve when they were looked at last.
  struct entitled_kind {
    const waiting_line::kind* of = nullptr; ///< may be gone by now
    std::size_t leaf = no_vertex;           ///< its queue's
    service_place last;                     ///< of its units
  };
  std::vector<entitled_kind> entitled_;
  std::map<std::string, std::int32_t, std::less<>> promised_; ///< the lowest priority, by queue
  std::set<std::string> lost_their_room_; ///< workloads of decisions that are given up
  std::map<std::pair<std::string, std::string>, int> at_their_nodes_; ///< by workload and group
  turn_of last_;                                                      ///< that was taken
  /// Of runs for which there was nothing, and when they had their turn.
  std::vector<std::pair<candidate, precedence>> passed_over_;
  std::int64_t most_of_runs_ = 0;
  bool served_of_many_ = false; ///< somebody of a queue in which many wait
  std::optional<turn_of> first_to_pause_;
  std::int64_t effort_in_vain_ = 0; ///< for those who were set aside
  bool begun_ = false;
  bool others_aside_ = false; ///< kinds of queues that have no line
  bool others_may_have_gone_ = false;
  bool decided_ = false;
  bool made_room_ = false;        ///< the unit that was served last has victims
  std::vector<kept_part> kept_;   ///< for those who wait for a limit, where they stop nobody
  bool kept_for_a_limit_ = false; ///< whether somebody waits for one
};

} // namespace reprieve
