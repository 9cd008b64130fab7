#pragma once

#include "protocol/peers/peer_link.hpp"

#include <string>

/// Actors that speak for those of another replica, with the interfaces of these
/// (docs/architecture.md#the-picture). Each ends with its link, or when the other side says that
/// the one it speaks for has ended.
namespace reprieve {

template <class Interface>
struct proxy_state {
  static inline const char* name = "peer_proxy";

  std::string shard;
  peer_link_actor link;
};

template <class Interface>
using proxy_pointer = typename Interface::template stateful_pointer<proxy_state<Interface>>;

node_shard_actor::behavior_type node_shard_proxy(proxy_pointer<node_shard_actor> self,
                                                 peer_link_actor link, std::string shard);
workload_shard_actor::behavior_type workload_shard_proxy(proxy_pointer<workload_shard_actor> self,
                                                         peer_link_actor link, std::string shard);
queue_shard_actor::behavior_type queue_shard_proxy(proxy_pointer<queue_shard_actor> self,
                                                   peer_link_actor link, std::string shard);
coordinator_actor::behavior_type coordinator_proxy(proxy_pointer<coordinator_actor> self,
                                                   peer_link_actor link, std::string shard);
/// Takes events to the log of the other replica.
event_follower_actor::behavior_type event_log_proxy(proxy_pointer<event_follower_actor> self,
                                                    peer_link_actor link, std::string shard);

// What both sides call messages that carry actors here, and a token there.
namespace peer_kinds {
inline constexpr const char* follow = "follow";
inline constexpr const char* follow_quota = "follow_quota";
inline constexpr const char* await_room = "await_room";
inline constexpr const char* await_victims = "await_victims";
inline constexpr const char* ended = "ended";
inline constexpr const char* watch_shard = "watch_shard";
/// With `follow`: changes of large workloads may come page by page.
inline constexpr const char* takes_pages = "pages";
} // namespace peer_kinds

} // namespace reprieve
