#pragma once

#include "state/store_in_front.hpp"
#include "tests/simulation/dice.hpp"

#include <functional>
#include <list>
#include <memory>
#include <string>

namespace reprieve::simulation {

/// One client's connection to a store that the simulation moves on by hand: calls arrive in any
/// order, answers take their time or are lost, and a write of which nothing is known may still be
/// carried out later, even when its sender is dead.
class chaotic_store final : public store_in_front {
public:
  using observer = std::function<void(const transaction&, revision)>;

  /// The store behind it answers at once.
  chaotic_store(std::shared_ptr<store> behind, observer carried_out)
      : store_in_front(std::move(behind)), carried_out_(std::move(carried_out)) {}

  /// Whether something is under way.
  bool busy() const {
    return !under_way_.empty();
  }

  /// Moves one call on: it is carried out, or its answer arrives; with faults, something else may
  /// happen. Says what did.
  std::string step(dice& luck, bool with_faults);

  /// Its client is dead: what is under way may still be carried out, and is not answered.
  void cut() {
    cut_ = true;
  }

  void read(range_request request, store_callback<range_result> done) override;
  void commit(transaction writes, store_callback<transaction_result> done) override;

private:
  /// Something that will happen: a call reaches the store, or an answer its caller.
  struct event {
    enum class type { request, late_request, answer } kind;
    std::string what;
    std::function<void()> happen;             ///< carried out, or answered
    std::function<void(absl::Status)> refuse; ///< of a request: answered without being carried out
    bool writes = false;
  };

  void answer_later(std::string what, std::function<void()> answer);

  observer carried_out_;
  std::list<event> under_way_;
  bool cut_ = false;
  bool answer_lost_ = false; ///< of the request that is just being carried out
  bool compared_ = true;     ///< whether its comparisons held
};

} // namespace reprieve::simulation
