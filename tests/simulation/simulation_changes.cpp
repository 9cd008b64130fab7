#include "tests/simulation/simulation.hpp"

#include <fmt/format.h>

// What becomes of one change at a time where nothing fails.

namespace reprieve::simulation {

/// One who is more important comes, and those who decide begin anew while others leave for it.
void simulation::tell_a_story() {
  const auto tell = [this](client::step now, std::int64_t least, std::int64_t most) {
    if (auto* one = newest_live(); one != nullptr && facts_.broken().empty())
      log("people: " + people_.tell(now, *one));
    settle(std::chrono::milliseconds{luck_.between(least, most)});
  };
  tell(client::step::two_run, 5'000, 10'000);
  tell(client::step::one_comes, 500, 3'000);
  tell(client::step::another_node, 3'000, 5'000);
  tell(client::step::another_comes, 1'000, 3'000);
  tell(client::step::third_node, 4'000, 8'000);
  for (int ends = 0; ends < 3; ++ends) {
    if (auto* one = newest_live(); one != nullptr && facts_.broken().empty())
      log(fmt::format("process {} loses {}", one->generation(), one->lose_an_actor(luck_, true)));
    settle(std::chrono::milliseconds{luck_.between(1'000, 15'000)});
  }
  settle(std::chrono::seconds{120});
  if (facts_.broken().empty())
    check_rest();
  tell(client::step::end, 60'000, 90'000);
}

void simulation::change_things() {
  constexpr int changes = 8;
  constexpr std::chrono::seconds time_for_each{60};
  facts_.look_for_causes();
  // In some, actors begin anew while others leave.
  const bool some_end = shape_.now == mood::crowded || luck_.one_in(2);
  if (shape_.now == mood::crowded)
    tell_a_story();
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
