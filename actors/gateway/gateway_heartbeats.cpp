#include "actors/gateway/gateway_heartbeats.hpp"

#include "actors/gateway/gateway_routes.hpp"
#include "actors/interfaces/gathering.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

caf::result<heartbeat_result> pass_on(gateway_pointer self, heartbeat_request& alive) {
  auto& state = self->state;
  if (!state.serving || !state.known)
    return heartbeat_result(starting());
  auto unknown = std::make_shared<std::vector<std::string>>();
  std::map<node_shard_actor, heartbeat_request> orders;
  for (auto& name : alive.nodes) {
    const auto record = state.nodes.find(name);
    if (record == state.nodes.end()) {
      unknown->push_back(std::move(name));
      continue;
    }
    const auto& owner = record->second->spec->resource_group;
    const auto* group = group_named(state, owner);
    if (group == nullptr)
      return heartbeat_result(not_serving(owner));
    auto& order = orders[shard_for(group->shards.nodes, name)];
    order.nodes.push_back(std::move(name));
  }
  auto answer = promise_from<heartbeat_result>(self);
  gathering all([answer, unknown](absl::Status how) mutable {
    answer.deliver(how.ok() ? heartbeat_result(std::move(*unknown)) : heartbeat_result(how));
  });
  for (auto& [shard, order] : orders) {
    order.last = alive.last;
    all.ask_for<heartbeat_result>(self, shard, std::move(order),
                                  [unknown](heartbeat_result& found) {
                                    if (found.ok())
                                      unknown->insert(unknown->end(), found->begin(), found->end());
                                    return found.status();
                                  });
  }
  all.complete();
  return answer;
}

} // namespace reprieve
