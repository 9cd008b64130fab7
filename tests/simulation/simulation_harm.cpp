#include "tests/simulation/simulation.hpp"

#include <caf/scheduled_actor.hpp>
#include <fmt/format.h>

// What does happen to processes and to what connects them.

namespace reprieve::simulation {

/// Something that was out of order works again; false where nothing is.
bool simulation::repair() {
  std::vector<std::function<void()>> possible;
  for (auto* one : those(member::state::paused))
    possible.emplace_back([this, one] {
      log(fmt::format("process {} goes on", one->generation()));
      one->resume();
    });
  for (auto* one : those(member::state::live))
    if (one->connection().is_blocked())
      possible.emplace_back([this, one] {
        log(fmt::format("process {} reaches the store again", one->generation()));
        one->connection().block(false);
      });
  if (network_.is_cut())
    possible.emplace_back([this] {
      log("all wires are whole");
      network_.mend();
    });
  if (luck_.one_in(4))
    if (const auto what = people_.wake_one(); !what.empty()) {
      log(what);
      return true;
    }
  if (possible.empty())
    return false;
  possible[luck_.below(possible.size())]();
  return true;
}

void simulation::cut_a_wire(const member& from, const member& to) {
  const bool both_ways = luck_.one_in(2);
  log(fmt::format("wires from {} to {} are cut{}", from.generation(), to.generation(),
                  both_ways ? ", and back" : ""));
  network_.cut(from.generation(), to.generation());
  if (both_ways)
    network_.cut(to.generation(), from.generation());
}

/// What was sent to the machines is there.
void simulation::handle_orders() {
  const auto* machines = caf::actor_cast<caf::scheduled_actor*>(machines_);
  for (bool busy = true; busy;) {
    busy = false;
    for (std::size_t i = 0; i < outside_.waiting().size() && !busy; ++i)
      if (dynamic_cast<caf::scheduled_actor*>(outside_.waiting()[i]) == machines) {
        outside_.step_at(i);
        busy = true;
      }
  }
}

/// A machine dies and comes back without its memory. What was on its way to it is lost with it, or
/// was carried out before.
bool simulation::forget_a_machine() {
  const auto busy = facts_.busy_machines();
  if (busy.empty())
    return false;
  const auto& node = busy[luck_.below(busy.size())];
  log(fmt::format("machine {} begins anew and has forgotten what it ran", node));
  handle_orders();
  caf::anon_send(machines_, forget_machine{node, true});
  handle_orders();
  return true;
}

void simulation::harm() {
  if (luck_.one_in(2) && repair())
    return;
  if (luck_.one_in(5) && forget_a_machine())
    return;
  if (luck_.one_in(4))
    if (const auto what = people_.silence_one(); !what.empty()) {
      log(what);
      return;
    }
  const auto live = those(member::state::live);
  if (live.empty())
    return;
  auto& hit = *live[luck_.below(live.size())];
  const auto number = hit.generation();
  switch (luck_.below(6)) {
  case 0:
    log(fmt::format("process {} stalls", number));
    hit.pause();
    break;
  case 1:
    log(fmt::format("process {} crashes", number));
    lose(hit, luck_.one_in(2));
    break;
  case 2:
    log(fmt::format("process {} can't reach the store", number));
    hit.connection().block(true);
    break;
  case 3:
    if (!hit.is_leaving()) {
      log(fmt::format("process {} is asked to leave", number));
      hit.stop();
    }
    break;
  case 4:
    log(fmt::format("process {} loses {}", number, hit.lose_an_actor(luck_)));
    break;
  default:
    if (const auto& other = *live[luck_.below(live.size())]; &other != &hit)
      cut_a_wire(hit, other);
    break;
  }
}

} // namespace reprieve::simulation
