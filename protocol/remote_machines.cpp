#include "protocol/remote_machines.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = remote_machines_actor::stateful_pointer<remote_machines_state>;

constexpr std::chrono::milliseconds pause{200};

template <class Order>
void send_one(remote_machines_state& state, const Order& order) {
  if (!state.open)
    return;
  peer_envelope letter;
  letter.kind = peer_kind<Order>();
  letter.payload = encode_peer(order);
  state.wire->send(std::move(letter));
}

void send(remote_machines_state& state, const remote_machines_state::order& order) {
  std::visit([&](const auto& one) { send_one(state, one); }, order);
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

const pod_observer_actor& observer_of(const remote_machines_state::order& order) {
  return std::visit(
    [](const auto& one) -> const auto& { return one.report_to; }, order);
}

void take_in(self_pointer self, const pod_reports& reports) {
  auto& orders = self->state.orders;
  std::map<pod_observer_actor, pod_reports> by_observer;
  for (const auto& one : reports) {
    using what = pod_report::what;
    const auto found = orders.find(one.uid);
    if (found != orders.end()) {
      by_observer[observer_of(found->second)].push_back(one);
    } else if (const auto watcher = self->state.watchers.find(one.node);
               watcher != self->state.watchers.end()) {
      by_observer[watcher->second].push_back(one);
    }
    if (found != orders.end() && one.happened != what::running && one.happened != what::placed
        && one.happened != what::terminating)
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
    [self](watch_nodes& order) {
      auto& s = self->state;
      for (const auto& one : order.nodes)
        s.watchers[one.name] = order.report_to;
      send_one(s, order);
      auto shard = order.shard;
      s.watched.insert_or_assign(std::move(shard), std::move(order));
    },
    [self](count_order& order) {
      auto& s = self->state;
      send_one(s, order);
      auto key = std::pair{order.resource_group, order.what->what().workload};
      s.counted.insert_or_assign(std::move(key), std::move(order));
    },
    [self](count_only& order) {
      auto& s = self->state;
      send_one(s, order);
      std::erase_if(s.counted, [&](const auto& one) {
        const auto& [group, workload] = one.first;
        return group == order.resource_group
               && !std::ranges::binary_search(order.deployments, workload);
      });
      auto group = order.resource_group;
      s.counted_only.insert_or_assign(std::move(group), std::move(order));
    },
    [self](delete_order& order) {
      auto& kept = self->state.orders[order.uid] = std::move(order);
      send(self->state, kept);
    },
    [self](wire_opened) {
      self->state.open = true;
      for (const auto& [shard, order] : self->state.watched)
        send_one(self->state, order);
      for (const auto& [group, order] : self->state.counted_only)
        send_one(self->state, order);
      for (const auto& [what, order] : self->state.counted)
        send_one(self->state, order);
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
        if constexpr (requires { order->report_to; })
          order->report_to = self;
        self->send(machines, *std::move(order));
      };
      if (one.letter.kind == peer_kind<start_order>())
        pass(open_letter<start_order>(one.letter));
      else if (one.letter.kind == peer_kind<stop_order>())
        pass(open_letter<stop_order>(one.letter));
      else if (one.letter.kind == peer_kind<watch_nodes>())
        pass(open_letter<watch_nodes>(one.letter));
      else if (one.letter.kind == peer_kind<count_order>())
        pass(open_letter<count_order>(one.letter));
      else if (one.letter.kind == peer_kind<count_only>())
        pass(open_letter<count_only>(one.letter));
      else if (one.letter.kind == peer_kind<delete_order>())
        pass(open_letter<delete_order>(one.letter));
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
