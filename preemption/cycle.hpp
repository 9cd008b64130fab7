#pragma once

#include "preemption/group_shares.hpp"
#include "preemption/holds.hpp"
#include "preemption/judgement.hpp"
#include "preemption/queue_stage.hpp"
#include "preemption/sessions.hpp"
#include "preemption/waiting_line.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// What a scheduling cycle is run on and what comes of it. The cluster may be whole, as in a
/// snapshot, or in shards that are asked: the cycle is the same. Whatever the cycle decides shows in
/// all that it asks for afterwards.
class cycle_port : public judgement_port {
public:
  /// Everybody who waits; kept from cycle to cycle with what is set aside there.
  virtual waiting_line& line() = 0;
  /// Whether the unit lacks its pods even now: a decision made since may have taken those that it was
  /// to join.
  virtual bool still_lacks(const preemptor& who) = 0;
  /// The queues with the group's part of their limits, what their pods use, the capacity. Of what
  /// waits only what is not in the line, and without pods.
  virtual queue_stage_input queue_input() = 0;
  /// Nodes that changed since this was last asked in a way that could help somebody.
  struct changes {
    std::vector<node_row> freed;   ///< somebody left or leaves, or the node is another
    std::vector<node_row> arrived; ///< somebody came to stay who could not be a victim before
  };
  virtual changes take_changes() = 0;
  /// How many decisions were made so far, and up to which of them all are over.
  virtual std::uint64_t decisions_made() = 0;
  virtual std::uint64_t decisions_over() = 0;
  /// Whether time alone may let somebody go who may not go now.
  virtual bool time_matters() = 0;

  /// The unit gets free room, or room that others leave anyway.
  virtual void place(const waiting_unit& unit, plan made) = 0;
  /// The unit gets its room once the victims have gone.
  virtual void preempt(const waiting_unit& unit, plan made) = 0;
  /// These decisions are given up for the unit, whose turn comes again when they are.
  virtual void take_holds(const waiting_unit& unit, const std::vector<given_up>& holds,
                          plan then) = 0;
  /// The queue's pods that go because it uses more than it may keep.
  virtual void take_back(const queue_outcome& from) = 0;
  /// Since when the required node is reserved for the unit's pod, and the room that it keeps there.
  virtual void reserve(const preemptor& who, const plan& made) = 0;
  /// The unit goes on waiting. The sentence in the plan is empty where nobody asked for it.
  virtual void waits(const waiting_unit& unit, plan made) = 0;
  virtual void look_again(time_point when) = 0;
};

/// One scheduling cycle of a resource group (DESIGN 3).
///
/// First the queue stage: queues that use more than they may keep give pods back. Then whoever waits
/// is served. Within a queue strictly in turn, the most important first; between queues, those come
/// first that are within what their queue deserves. Each is placed in free room, else with victims,
/// else it goes on waiting; and whoever comes later sees what those before it hold, so that nobody
/// takes the room that another was promised.
///
/// Where the port has to ask shards first, `run` returns false, and is called again when they have
/// answered.
class scheduling_cycle {
public:
  scheduling_cycle(cycle_port& port, plan_settings settings);

  /// Runs the cycle, or goes on with it. Whether it is through.
  bool run();

  /// Runs it for these alone, in this order, with who else waits counted in.
  void serve_only(const std::vector<waiting_unit>& units, front_of_line line);

  /// Why the unit waits, as things stand now; nothing is done about it.
  std::string why_waits(const waiting_unit& unit, bool at_front = true);

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
  struct queue_line {
    std::vector<candidate> heap;
    group_shares::amounts_by_column asked; ///< by the first of them
    std::size_t leaf = no_vertex;
  };

  void begin();
  void run_queue_stage();
  void share_out();
  by_name<resources> admissible() const;
  /// Takes kinds back that changes could help, and lines up their units behind that place.
  void wake_kinds(const service_place* behind);
  bool could_help(const waiting_line::kind& of, std::span<const node_row> nodes) const;
  bool admits_any(std::size_t leaf, std::string_view queue) const;
  void line_up();
  void look_at_front(queue_line& line);
  queue_line* next_line();
  void advance(queue_line& line, bool parked);
  /// False where shards are asked first.
  bool serve(const waiting_unit& unit, bool& parked);
  bool lacks_its_pods(const waiting_unit& unit);
  bool may_park(const waiting_unit& unit) const;

  cycle_port& port_;
  plan_settings settings_;
  queue_stage_result queues_;
  std::optional<group_shares> shares_;
  std::optional<unit_judge> judge_;
  front_of_line front_; ///< who may preempt in a group with sessions (DESIGN 3.6)
  std::map<std::string, queue_line, std::less<>> lines_; ///< by queue
  bool begun_ = false;
  bool others_may_have_gone_ = false;
  bool decided_ = false;
  bool made_room_ = false; ///< the unit that was served last has victims
};

} // namespace reprieve
