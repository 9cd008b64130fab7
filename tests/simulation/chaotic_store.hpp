#pragma once

#include "state/store/forwarding_store.hpp"
#include "tests/simulation/dice.hpp"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve::simulation {

/// One client's connection to a store that the simulation moves on by hand: calls arrive in any
/// order, answers take their time or are lost, and a write of which nothing is known may still be
/// carried out later, even when its sender is dead. Its leases run in virtual time, and are kept as
/// long as the client lives and the way to the store is open.
class chaotic_store final : public forwarding_store {
public:
  using observer = std::function<void(const transaction&, revision)>;

  /// The store behind it answers at once.
  chaotic_store(std::shared_ptr<store> behind, std::function<duration()> clock,
                observer carried_out)
      : forwarding_store(std::move(behind)), clock_(std::move(clock)),
        carried_out_(std::move(carried_out)) {}

  /// Whether something under way can be moved on.
  bool busy() const;

  /// Moves one call on: it is carried out, or its answer arrives; with faults, something else may
  /// happen. Says what did.
  std::string step(dice& luck, bool with_faults);

  /// Its client is dead: what is under way may still be carried out, and is not answered.
  void cut() {
    cut_ = true;
  }

  /// The client takes no answers, and keeps no lease, until it goes on.
  void stall(bool stalls) {
    stalled_ = stalls;
  }

  /// Nothing comes through in either direction until the way is open again.
  void block(bool blocked) {
    blocked_ = blocked;
  }
  bool is_blocked() const {
    return blocked_;
  }

  /// Whether a write that is slow, and not carried out yet, is of such a key.
  bool is_slow_with(std::string_view part_of_key) const;
  /// From now on writes of such keys take that long.
  void slow_down(std::string part_of_key, duration by) {
    slowed_ = std::move(part_of_key);
    slowed_by_ = by;
  }
  /// The next write of such a key hangs for so long, and its sender does not know what becomes of
  /// it.
  void hang_next(std::string part_of_key, duration by) {
    hanging_ = std::move(part_of_key);
    hangs_for_ = by;
  }
  /// Not any more, and what is slow already is not either.
  void hurry();

  /// Renews the leases, or ends those whose time is over; whenever time has passed.
  void keep_leases();

  void read(range_request request, store_callback<range_result> done) override;
  void commit(transaction writes, store_callback<transaction_result> done) override;
  std::unique_ptr<watch_handle> watch(key_range range, revision from,
                                      store_callback<watch_batch> each) override;
  void grant(duration time_to_live, store_callback<lease_id> done,
             std::function<void()> lost) override;
  void revoke(lease_id lease, store_callback<revision> done) override;
  duration lasts_until(lease_id lease) const override;

private:
  /// Something that will happen: a call reaches the store, or an answer its caller, or the client
  /// finds something out by itself.
  struct event {
    enum class type { request, late_request, answer, notice } kind;
    std::string what;
    std::function<void()> happen;             ///< carried out, or answered
    std::function<void(absl::Status)> refuse; ///< of a request: answered without being carried out
    bool writes = false;
    int watch = 0; ///< whose news come in order
    duration not_before{0};
  };
  struct held_lease {
    duration time_to_live{0};
    duration renewed{0};
    std::function<void()> lost;
    bool kept = true; ///< by this client
    bool gone = false;
    bool told = false; ///< whether the client knows that it is lost
  };
  using event_position = std::list<event>::iterator;

  void ask(std::string what, bool writes, std::function<void()> happen,
           std::function<void(absl::Status)> refuse);
  void answer_later(std::string what, std::function<void()> answer);
  bool can_happen(const event& one) const;
  event_position choose(dice& luck);
  duration slowness_of(const event& one, dice& luck) const;
  std::string carry_out(event now, dice& luck, bool with_faults);

  std::function<duration()> clock_;
  observer carried_out_;
  std::list<event> under_way_;
  std::map<lease_id, held_lease> leases_;
  std::string hanging_;
  duration hangs_for_{0};
  std::string slowed_;
  duration slowed_by_{0};
  int last_watch_ = 0;
  bool cut_ = false;
  bool stalled_ = false;
  bool blocked_ = false;
  bool answer_lost_ = false; ///< of the request that is just being carried out
  bool compared_ = true;     ///< whether its comparisons held
};

} // namespace reprieve::simulation
