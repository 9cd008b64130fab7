#include "protocol/peers/remote_machines.hpp"

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

/// Hears of the end of whoever gives orders.
void observe_end(self_pointer self, const pod_observer_actor& observer) {
  if (observer && self->state.observers.insert(observer.address()).second)
    self->monitor(observer);
}

/// Keeps the order until the pod has ended, or who gave it, and gives it.
template <class Order>
void keep(self_pointer self, std::string uid, Order& order) {
  observe_end(self, order.report_to);
  auto& kept = self->state.orders[std::move(uid)];
  kept = std::move(order);
  send(self->state, kept);
}

/// The next owner of its pods knows better what has become of them.
void drop_orders_of(remote_machines_state& state, const caf::actor_addr& ended) {
  const auto has_ended = [&](const pod_observer_actor& one) { return one.address() == ended; };
  std::erase_if(state.orders, [&](const auto& one) { return has_ended(observer_of(one.second)); });
  std::erase_if(state.watched, [&](const auto& one) { return has_ended(one.second.report_to); });
  std::erase_if(state.watchers, [&](const auto& one) { return has_ended(one.second); });
  state.observers.erase(ended);
}

/// It was started: from now on it is only asked about.
void note_start(remote_machines_state::order& kept) {
  if (const auto* order = std::get_if<start_order>(&kept)) {
    const auto& started = order->what->what();
    kept =
      pod_question{started.uid, started.node, pod_phase::running, order->epoch, order->report_to};
  }
}

/// Whether nothing more is to be told of the pod.
bool is_last(pod_report::what happened) {
  using what = pod_report::what;
  return happened == what::stopped || happened == what::succeeded || happened == what::failed
         || happened == what::forgotten;
}

void take_in(self_pointer self, const pod_reports& reports) {
  auto& orders = self->state.orders;
  std::map<pod_observer_actor, pod_reports> by_observer;
  for (const auto& one : reports) {
    const auto found = orders.find(one.uid);
    if (found != orders.end()) {
      by_observer[observer_of(found->second)].push_back(one);
    } else if (const auto watcher = self->state.watchers.find(one.node);
               watcher != self->state.watchers.end()) {
      by_observer[watcher->second].push_back(one);
    }
    if (found == orders.end())
      continue;
    if (one.happened == pod_report::what::running)
      note_start(found->second);
    else if (is_last(one.happened))
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
  self->set_down_handler(
    [self](const caf::down_msg& down) { drop_orders_of(self->state, down.source); });
  connect(self);
  return {
    [self](start_order& order) { keep(self, std::string(order.what->what().uid), order); },
    [self](pod_question& question) { keep(self, std::string(question.uid), question); },
    [self](stop_order& order) { keep(self, std::string(order.uid), order); },
    [self](watch_nodes& order) {
      auto& s = self->state;
      observe_end(self, order.report_to);
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
    [self](delete_order& order) { keep(self, std::string(order.uid), order); },
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
      else if (one.letter.kind == peer_kind<pod_question>())
        pass(open_letter<pod_question>(one.letter));
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
