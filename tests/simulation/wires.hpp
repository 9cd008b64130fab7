#pragma once

#include "protocol/peers/peer_link.hpp"
#include "protocol/peers/peer_wire.hpp"
#include "tests/simulation/dice.hpp"

#include <array>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace reprieve::simulation {

/// What carries letters between processes, moved on by hand: each takes its time, and comes in the
/// order of its wire or not at all. A way can be cut, in one direction or both; who does not hear
/// from the other side for long takes the wire for broken, as pings would tell.
class wires {
public:
  using session_maker = std::function<wire_end_actor(std::shared_ptr<peer_wire>)>;

  /// `awake` says whether a process takes in anything at the moment. Processes have numbers.
  explicit wires(std::function<bool(int)> awake) : awake_(std::move(awake)) {}

  /// What the process dials others with.
  wire_maker dialer(int process);
  /// Others reach the process at the address.
  void listen(int process, const std::string& address, session_maker sessions);

  /// Nobody is there any more: what it had sent may still arrive. Where its machine is gone with
  /// it, nobody tells the others.
  void end(int process, bool with_its_machine);

  /// All wires end at once.
  void end_all();

  void cut(int from, int to) {
    cuts_.insert({from, to});
  }
  void mend() {
    cuts_.clear();
  }
  bool is_cut() const {
    return !cuts_.empty();
  }

  void pass(duration time);

  /// Has something arrive, and says what; empty where nothing can.
  std::string step(dice& luck);

private:
  enum side : std::size_t { asking, asked };

  struct parcel {
    enum class type { dial, opened, letter, closed } what = type::letter;
    peer_envelope letter;
  };
  struct connection {
    std::array<int, 2> processes{}; ///< by side
    std::string address;
    peer_events events;                          ///< of the side that asked
    wire_end_actor session;                      ///< of the other, once it is reached
    std::array<std::deque<parcel>, 2> under_way; ///< by the side they go to
    std::array<bool, 2> ended{};                 ///< what comes to this side is lost
    bool broken = false;                         ///< both sides find out by themselves
    duration silent{0};                          ///< for so long, one side has heard nothing
  };
  struct wire_end;
  using connection_pointer = std::shared_ptr<connection>;

  static void close(connection& one, side by);
  bool can_arrive(const connection& one, side at) const;
  bool is_silent(const connection& one) const;
  void arrive(const connection_pointer& one, side at, parcel what);
  void tell_closed(connection& one, side at);

  std::function<bool(int)> awake_;
  std::map<std::string, std::pair<int, session_maker>> listening_; ///< by address
  std::set<int> gone_;                                             ///< processes
  std::set<std::pair<int, int>> cuts_;                             ///< from whom to whom
  std::list<connection_pointer> connections_;
};

} // namespace reprieve::simulation
