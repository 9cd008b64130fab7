#include "tests/simulation/simulation.hpp"

#include <fmt/format.h>

// What becomes of one change at a time where nothing fails.

namespace reprieve::simulation {

void simulation::change_things() {
  constexpr int changes = 8;
  constexpr std::chrono::seconds time_for_each{60};
  facts_.look_for_causes();
  // In some, actors begin anew while others leave.
  const bool some_end = shape_.now == mood::crowded || luck_.one_in(2);
  for (int i = 0; i < changes && facts_.broken().empty(); ++i) {
    facts_.begin_change();
    // Several at once are no more than one, where nobody has had the time to act on the first.
    for (auto some = luck_.between(1, 3); some > 0; --some)
      if (const auto what = people_.change(*newest_live()); !what.empty())
        log("people: " + what);
    for (int ends = some_end ? 3 : 0; ends > 0; --ends) {
      settle(std::chrono::milliseconds{luck_.between(200, luck_.one_in(2) ? 3'000 : 40'000)});
      if (auto* one = newest_live(); one != nullptr && facts_.broken().empty())
        log(fmt::format("process {} loses {}", one->generation(),
                        one->lose_an_actor(luck_, shape_.now == mood::crowded || luck_.one_in(2))));
    }
    settle(time_for_each);
    for (int more = 0; more < 3 && facts_.does_anybody_leave(); ++more)
      settle(time_for_each);
    if (facts_.broken().empty())
      check_rest();
  }
}

} // namespace reprieve::simulation
