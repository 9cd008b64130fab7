#pragma once

#include "state/containers/name_map.hpp"
#include "state/records/pod_list.hpp"

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace reprieve {

/// The pods of each workload, wherever they are: finds those of one without a look at every node.
class pod_index {
public:
  using pods = std::unordered_set<pod_list::pointer>;

  /// A node's pods are others now. What has not changed costs a comparison.
  void replace(const pod_list& before, const pod_list& after);

  /// The workload's pods, in no order.
  const pods& of(std::string_view workload) const;

  /// The pods of this name, which begins with that of their workload and a hyphen.
  std::vector<pod_list::pointer> named(std::string_view pod) const;

private:
  void put(const pod_list::pointer& p);
  void remove(const pod_list::pointer& p);

  name_map<pods> by_workload_;
};

} // namespace reprieve
