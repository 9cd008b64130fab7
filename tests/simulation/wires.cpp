#include "tests/simulation/wires.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace reprieve::simulation {

namespace {

/// After which a side that hears nothing gives up.
constexpr std::chrono::seconds longest_silence{3};

constexpr std::size_t other(std::size_t side) {
  return 1 - side;
}

} // namespace

/// What one side has of a connection.
struct wires::wire_end final : peer_wire {
  wire_end(connection_pointer of, side at) : of_(std::move(of)), at_(at) {}

  void send(peer_envelope letter) override {
    if (!of_->ended[at_])
      of_->under_way[other(at_)].push_back({parcel::type::letter, std::move(letter)});
  }
  void close() override {
    wires::close(*of_, at_);
  }

  const connection_pointer of_;
  const side at_;
};

void wires::close(connection& one, side by) {
  if (std::exchange(one.ended[by], true))
    return;
  one.under_way[by].clear();
  one.under_way[other(by)].push_back({parcel::type::closed, {}});
}

wire_maker wires::dialer(int process) {
  return [this, process](const std::string& address, peer_events events) {
    auto made = std::make_shared<connection>();
    const auto found = listening_.find(address);
    made->processes = {process, found == listening_.end() ? 0 : found->second.first};
    made->address = address;
    made->events = std::move(events);
    made->under_way[asked].push_back({parcel::type::dial, {}});
    connections_.push_back(made);
    return std::make_shared<wire_end>(made, asking);
  };
}

void wires::listen(int process, const std::string& address, session_maker sessions) {
  listening_[address] = {process, std::move(sessions)};
}

void wires::end(int process, bool with_its_machine) {
  std::erase_if(listening_, [&](const auto& one) { return one.second.first == process; });
  gone_.insert(process);
  for (const auto& one : connections_)
    for (const auto at : {asking, asked})
      if (one->processes[at] == process) {
        if (!with_its_machine)
          close(*one, at);
        one->ended[at] = true;
        one->under_way[at].clear();
      }
}

void wires::end_all() {
  for (const auto& one : std::exchange(connections_, {}))
    for (const auto at : {asking, asked})
      tell_closed(*one, at);
}

bool wires::is_silent(const connection& one) const {
  return std::ranges::any_of(one.processes, [&](int process) { return !awake_(process); })
         || cuts_.contains({one.processes[0], one.processes[1]})
         || cuts_.contains({one.processes[1], one.processes[0]});
}

void wires::pass(duration time) {
  for (const auto& one : connections_) {
    one->silent = is_silent(*one) ? one->silent + time : duration{0};
    if (one->silent > longest_silence)
      one->broken = true;
  }
  // Of whoever is gone, nobody finds out.
  connections_.remove_if([&](const connection_pointer& one) {
    return std::ranges::all_of(std::array{asking, asked}, [&](side at) {
      return one->ended[at] || gone_.contains(one->processes[at]);
    });
  });
}

bool wires::can_arrive(const connection& one, side at) const {
  if (!awake_(one.processes[at]) || one.ended[at])
    return false;
  if (one.broken)
    return true;
  return !one.under_way[at].empty()
         && !cuts_.contains({one.processes[other(at)], one.processes[at]});
}

void wires::tell_closed(connection& one, side at) {
  one.ended[at] = true;
  one.under_way[at].clear();
  if (at == asking)
    one.events.closed();
  else if (one.session)
    caf::anon_send(one.session, wire_closed{});
}

void wires::arrive(const connection_pointer& one, side at, parcel what) {
  switch (what.what) {
  case parcel::type::dial: {
    one->session = listening_.at(one->address).second(std::make_shared<wire_end>(one, asked));
    one->under_way[asking].push_back({parcel::type::opened, {}});
    break;
  }
  case parcel::type::opened:
    one->events.opened();
    break;
  case parcel::type::letter:
    if (at == asking)
      one->events.arrived(std::move(what.letter));
    else
      caf::anon_send(one->session, wire_arrived{std::move(what.letter)});
    break;
  case parcel::type::closed:
    // What this side had under way is lost.
    one->under_way[other(at)].clear();
    one->ended[other(at)] = true;
    tell_closed(*one, at);
    break;
  }
}

std::string wires::step(dice& luck) {
  std::vector<std::pair<connection_pointer, side>> possible;
  for (const auto& one : connections_)
    for (const auto at : {asking, asked})
      if (can_arrive(*one, at))
        possible.emplace_back(one, at);
  if (possible.empty())
    return {};
  const auto [one, at] = possible[luck.below(possible.size())];
  const auto way = fmt::format("{} -> {}", one->processes[other(at)], one->processes[at]);
  auto& coming = one->under_way[at];
  if (one->broken) {
    tell_closed(*one, at);
    return fmt::format("{}: broken", way);
  }
  // The end of a wire may overtake what was sent before.
  if (coming.back().what == parcel::type::closed && luck.one_in(4))
    coming.erase(coming.begin(), std::prev(coming.end()));
  auto what = std::move(coming.front());
  coming.pop_front();
  constexpr std::array<const char*, 4> names{"dialed", "opened", "", "closed"};
  std::string text = names[static_cast<std::size_t>(what.what)];
  if (what.what == parcel::type::letter)
    text = what.letter.answers != 0
             ? fmt::format("answer {}", what.letter.answers)
             : fmt::format("{} to {} {}", what.letter.kind, what.letter.to, what.letter.number);
  arrive(one, at, std::move(what));
  return fmt::format("{}: {}", way, text);
}

} // namespace reprieve::simulation
