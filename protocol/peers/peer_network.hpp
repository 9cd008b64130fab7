#pragma once

#include "actors/replica/peers.hpp"
#include "protocol/peers/peer_host.hpp"
#include "protocol/peers/peer_link.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace reprieve {

/// Makes wires to that replica.
using member_dialer = std::function<wire_maker(const std::string& replica, const member&)>;

/// Links to the other replicas, and proxies for what they own.
class peer_network final : public peers {
public:
  peer_network(caf::actor_system& system, std::shared_ptr<peer_host> host, member_dialer dial)
      : system_(system), host_(std::move(host)), dial_(std::move(dial)) {}
  ~peer_network() override;

  void know(const membership& members, const std::string& self, ownership_pointer ground,
            const peer_listener_actor& listener) override;
  void serve(std::shared_ptr<const local_shards> here) override;
  node_shard_actor node_shard(const std::string& replica, const std::string& shard) override;
  workload_shard_actor workload_shard(const std::string& replica,
                                      const std::string& shard) override;
  queue_shard_actor queue_shard(const std::string& replica) override;
  coordinator_actor coordinator(const std::string& replica, const std::string& shard) override;
  event_follower_actor event_log(const std::string& replica) override;

private:
  struct connection {
    std::string address;
    revision joined = 0; ///< of the replica: one that came back is another
    ownership_pointer ground;
    peer_link_actor link;
    std::shared_ptr<std::atomic<bool>> ended;
  };

  template <class Handle, class F>
  Handle speak_for(const std::string& replica, F proxy, const std::string& shard);
  static void drop(const connection& one);

  caf::actor_system& system_;
  std::shared_ptr<peer_host> host_;
  member_dialer dial_;
  std::map<std::string, connection> connections_; ///< by replica
  std::uint64_t last_ = 0;                        ///< of them
};

} // namespace reprieve
