#pragma once

#include "state/pod_list.hpp"
#include "state/text_map.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// The pods of each workload, wherever they are: finds those of one without a look at every node.
class pod_index {
public:
  /// A node's pods are others now. What has not changed costs a comparison.
  void replace(const pod_list& before, const pod_list& after);

  /// The workload's pods, in no order.
  const std::vector<pod_list::pointer>& of(std::string_view workload) const;

  /// The pods of this name, which begins with that of their workload and a hyphen.
  std::vector<pod_list::pointer> named(std::string_view pod) const;

private:
  void put(const pod_list::pointer& p);
  void change(const pod_list::pointer& from, const pod_list::pointer& to);
  void remove(const pod_list::pointer& p);

  text_map<std::vector<pod_list::pointer>> by_workload_;
};

} // namespace reprieve
