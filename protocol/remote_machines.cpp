#include "protocol/remote_machines.hpp"

namespace reprieve {

namespace {

using self_pointer = remote_machines_actor::stateful_pointer<remote_machines_state>;

constexpr std::chrono::milliseconds pause{200};

void send(remote_machines_state& state, const std::variant<start_order, stop_order>& order) {
  if (!state.open)
    return;
  peer_envelope letter;
  std::visit(
    [&](const auto& one) {
      letter.kind = peer_kind<std::decay_t<decltype(one)>>();
      letter.payload = encode_peer(one);
    },
    order);
  state.wire->send(std::move(letter));
}

void connect(self_pointer self) {
  auto& state = self->state;
  const remote_machines_actor me = self;
  state.wire =
    state.dial(state.address,
               {[me] { caf::anon_send(me, wire_opened{}); },
                [me](peer_envelope letter) { caf::anon_send(me, wire_arrived{std::move(letter)}); },
                [me] { caf::anon_send(me, wire_closed{}); }});
}

const pod_observer_actor& observer_of(const std::variant<start_order, stop_order>& order) {
  return std::visit(
    [](const auto& one) -> const auto& { return one.report_to; }, order);
}

void take_in(self_pointer self, const pod_reports& reports) {
  auto& orders = self->state.orders;
  std::map<pod_observer_actor, pod_reports> by_observer;
  for (const auto& one : reports) {
    const auto found = orders.find(one.uid);
    if (found == orders.end())
      continue;
    by_observer[observer_of(found->second)].push_back(one);
    if (one.happened != pod_report::what::running)
      orders.erase(found);
  }
  for (auto& [observer, some] : by_observer)
    self->send(observer, std::move(some));
}

} // namespace

remote_machines_actor::behavior_type remote_machines(self_pointer self, std::string address,
                                                     wire_maker dial) {
  self->state.address = std::move(address);
  self->state.dial = std::move(dial);
  connect(self);
  return {
    [self](start_order& order) {
      auto& kept = self->state.orders[order.what->what().uid];
      kept = std::move(order);
      send(self->state, kept);
    },
    [self](stop_order& order) {
      auto& kept = self->state.orders[order.uid];
      kept = std::move(order);
      send(self->state, kept);
    },
    [self](wire_opened) {
      self->state.open = true;
      for (const auto& [uid, order] : self->state.orders)
        send(self->state, order);
    },
    [self](const wire_arrived& one) {
      if (auto reports = open_letter<pod_reports>(one.letter); reports.ok())
        take_in(self, *reports);
    },
    [self](wire_closed) {
      self->state.open = false;
      self->delayed_send(self, pause, connect_machines{});
    },
    [self](connect_machines) { connect(self); },
  };
}

machine_session_actor::behavior_type
machine_session(machine_session_actor::stateful_pointer<machine_session_state> self,
                cluster_actor machines, std::shared_ptr<peer_wire> wire) {
  self->state.exchange = std::make_shared<peer_exchange>(std::move(wire), nullptr);
  return {
    [self, machines](const wire_arrived& one) {
      const auto pass = [&](auto order) {
        if (!order.ok())
          return;
        order->report_to = self;
        self->send(machines, *std::move(order));
      };
      if (one.letter.kind == peer_kind<start_order>())
        pass(open_letter<start_order>(one.letter));
      else if (one.letter.kind == peer_kind<stop_order>())
        pass(open_letter<stop_order>(one.letter));
    },
    [self](wire_closed) {
      self->state.exchange->end();
      self->quit(caf::exit_reason::user_shutdown);
    },
    [self](const pod_reports& reports) {
      self->state.exchange->tell({}, std::string(peer_kind<pod_reports>()), encode_peer(reports));
    },
  };
}

} // namespace reprieve
