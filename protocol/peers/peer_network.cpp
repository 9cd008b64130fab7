#include "protocol/peers/peer_network.hpp"

#include "protocol/peers/peer_proxies.hpp"

namespace reprieve {

peer_network::~peer_network() {
  for (auto& [replica, one] : connections_)
    drop(one);
}

void peer_network::drop(const connection& one) {
  caf::anon_send_exit(one.link, caf::exit_reason::user_shutdown);
}

void peer_network::know(const membership& members, const std::string& self,
                        ownership_pointer ground, const peer_listener_actor& listener) {
  std::erase_if(connections_, [&](const auto& entry) {
    const auto& [replica, one] = entry;
    const auto found = members.members.find(replica);
    if (found != members.members.end() && found->second.joined == one.joined
        && found->second.address == one.address && one.ground == ground && !*one.ended)
      return false;
    drop(one);
    return true;
  });
  for (const auto& [replica, there] : members.members) {
    if (replica == self || there.address.empty() || connections_.contains(replica))
      continue;
    auto ended = std::make_shared<std::atomic<bool>>(false);
    auto link = system_.spawn(peer_link, peer_link_settings{replica, ++last_, there.address, ground,
                                                            dial_(replica, there), listener});
    link->attach_functor([ended](const caf::error&) { *ended = true; });
    connections_[replica] = {there.address, there.joined, ground, std::move(link),
                             std::move(ended)};
  }
}

void peer_network::serve(std::shared_ptr<const local_shards> here) {
  host_->serve(std::move(here));
}

template <class Handle, class F>
Handle peer_network::speak_for(const std::string& replica, F proxy, const std::string& shard) {
  const auto found = connections_.find(replica);
  if (found == connections_.end() || *found->second.ended)
    return Handle{};
  return system_.spawn(proxy, found->second.link, shard);
}

node_shard_actor peer_network::node_shard(const std::string& replica, const std::string& shard) {
  return speak_for<node_shard_actor>(replica, node_shard_proxy, shard);
}

workload_shard_actor peer_network::workload_shard(const std::string& replica,
                                                  const std::string& shard) {
  return speak_for<workload_shard_actor>(replica, workload_shard_proxy, shard);
}

queue_shard_actor peer_network::queue_shard(const std::string& replica) {
  return speak_for<queue_shard_actor>(replica, queue_shard_proxy, std::string(queue_tree_shard));
}

coordinator_actor peer_network::coordinator(const std::string& replica, const std::string& shard) {
  return speak_for<coordinator_actor>(replica, coordinator_proxy, shard);
}

event_follower_actor peer_network::event_log(const std::string& replica) {
  return speak_for<event_follower_actor>(replica, event_log_proxy, "events");
}

} // namespace reprieve
