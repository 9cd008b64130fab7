#pragma once

#include "state/view/cluster_view.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

using names = std::vector<std::string>;

constexpr time_point at(std::int64_t second) {
  return time_point{} + std::chrono::seconds(second);
}

inline node a_node(std::string name, resources capacity = {{"cpu", 100}, {"gpu", 8}}) {
  node made;
  made.name = std::move(name);
  made.capacity = std::move(capacity);
  return made;
}

/// A running pod of its own workload, named by its uid, on node `n1`.
inline pod a_pod(std::string uid, std::int32_t priority = 0, resources requests = {{"cpu", 1}}) {
  pod made;
  made.uid = uid;
  made.workload = std::move(uid);
  made.group = "main";
  made.node = "n1";
  made.phase = pod_phase::running;
  made.priority = priority;
  made.requests = std::move(requests);
  return made;
}

/// Member `index` of a gang that goes whole.
inline pod a_member(std::string workload, std::int32_t index, std::int32_t priority = 0) {
  auto made = a_pod(workload + "-" + std::to_string(index), priority);
  made.workload = std::move(workload);
  made.index = index;
  made.disruption = disruption_mode::pod_group;
  return made;
}

class view_of_two_nodes : public testing::Test {
protected:
  view_of_two_nodes() {
    view.put_node(a_node("n1"));
    view.put_node(a_node("n2"));
  }

  pod_row put(const pod& p) {
    const auto row = view.put_pod(p);
    view.settle();
    return row;
  }
  names uids(std::span<const pod_row> rows) const {
    names found;
    for (const auto row : rows)
      found.emplace_back(view.pod_uid(row));
    return found;
  }
  names order(std::string_view on = "n1") const {
    return uids(view.pods_on(view.find_node(on)));
  }
  std::int64_t amount(std::span<const std::int64_t> row, std::string_view resource) const {
    return row[view.column_of(resource).value()];
  }
  std::int64_t free_cpu(std::string_view on = "n1") const {
    return amount(view.free(view.find_node(on)), "cpu");
  }
  std::int64_t promised_cpu(std::string_view on = "n1") const {
    return amount(view.promised(view.find_node(on)), "cpu");
  }

  cluster_view view;
};

} // namespace reprieve
