#pragma once

#include "actors/gateway/gateway.hpp"
#include "state/records/pod_list.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace reprieve {

/// The resource group that an object is in; nothing where it does not exist, or belongs to none.
std::optional<std::string> home_of(const gateway_state& state, object_kind kind,
                                   const std::string& name);

/// What applying the object would come to.
apply_outcome outcome_of(const gateway_state& state, const object& o);

/// A page of the objects of the kind that the request asks for. It ends when it is full, or when so
/// many were looked at that it is for others; then it may hold little or nothing, and says with
/// `next` where another goes on.
get_result look_up(const gateway_state& state, const get_request& wanted,
                   const by_name<queue_status>& queues);

/// The first pods, by uid, of a workload, on a node, or of a queue, and how many there are. Where
/// these stand on many nodes, they are looked for in several steps.
class first_pods {
public:
  /// Of that object, at most so many.
  first_pods(object_kind kind, const std::string& name, std::size_t most);

  /// Takes a step; whether it was the last.
  bool look(const gateway_state& state);

  std::size_t in_all() const {
    return in_all_;
  }
  /// In order of uid. Where they bring long texts, there are fewer than asked for.
  std::vector<pod> take() &&;

private:
  bool look_on_nodes(const gateway_state& state);
  void add(const pod_list::pointer& p);

  get_request wanted_;
  bool is_of_any_ = true; ///< an object that has pods
  std::size_t most_;
  std::optional<std::string> next_;      ///< the node to go on with, once nodes are looked at
  std::vector<pod_list::pointer> first_; ///< a heap, the last of them in front
  std::size_t in_all_ = 0;
};

} // namespace reprieve
