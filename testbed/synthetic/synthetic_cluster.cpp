#include "testbed/synthetic/synthetic_cluster.hpp"

#include "state/containers/row_index.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

constexpr std::int64_t gpus_per_node = 8;
constexpr std::int64_t memory_per_pod = std::int64_t{4} << 30;
constexpr std::int32_t priorities = 8;

resources size_of(bool gpu, std::int64_t times) {
  resources size{{"cpu", 1000 * times}, {"memory", memory_per_pod * times}};
  if (gpu)
    size["gpu"] = 1000 * times;
  return size;
}

std::string node_name(std::size_t n) {
  return fmt::format("node-{:06}", n);
}

preemptor preemptor_of(std::size_t number, std::size_t pods, std::int64_t times) {
  preemptor who;
  who.workload = fmt::format("urgent-{}", number);
  who.priority = 100 * priorities - 50;
  who.gang = pods > 1;
  who.may_have_weaker_kin = false;
  auto& group = who.groups.emplace_back();
  group.name = "workers";
  group.needed = static_cast<std::int32_t>(pods);
  for (std::size_t i = 0; i < pods; ++i) {
    auto& p = group.pods.emplace_back();
    p.workload = who.workload;
    p.group = group.name;
    p.index = static_cast<std::int32_t>(i);
    p.uid = fmt::format("{}-{}", who.workload, i);
    p.name = p.uid;
    p.priority = who.priority;
    p.requests = size_of(true, times);
  }
  return who;
}

} // namespace

node synthetic_cluster::node_at(std::size_t number) const {
  node one;
  one.name = node_name(number);
  one.labels = {{"zone", fmt::format("zone-{}", number % 3)},
                {"rack", fmt::format("rack-{}", number / 32)}};
  const auto per_node = static_cast<std::int64_t>(pods_per_node);
  one.capacity = {{"cpu", 1000 * per_node},
                  {"memory", memory_per_pod * per_node},
                  {"gpu", 1000 * gpus_per_node},
                  {"pods", 2 * per_node}};
  return one;
}

pod synthetic_cluster::pod_at(std::size_t number, std::size_t k) const {
  const auto in_all = k * nodes + number;
  const auto owner = in_all / group_size;
  const auto drawn = mix(seed, owner);
  pod one;
  one.workload = fmt::format("job-{:07}", owner);
  one.group = "workers";
  one.index = static_cast<std::int32_t>(in_all % group_size);
  one.uid = fmt::format("{}-{}", one.workload, one.index);
  one.name = one.uid;
  one.node = node_name(number);
  one.phase = pod_phase::running;
  one.disruption = group_size > 1 ? disruption_mode::pod_group : disruption_mode::pod;
  one.priority = 100 * static_cast<std::int32_t>(drawn % priorities);
  one.started = now - std::chrono::seconds{60 + (drawn >> 8U) % 86'400};
  one.created = one.started;
  one.requests = size_of(k < gpus_per_node, 1);
  return one;
}

cluster_view synthetic_cluster::view() const {
  cluster_view made;
  for (std::size_t n = 0; n < nodes; ++n)
    made.put_node(node_at(n));
  for (std::size_t k = 0; k < pods_per_node; ++k)
    for (std::size_t n = 0; n < nodes; ++n)
      made.put_pod(pod_at(n, k));
  made.settle();
  return made;
}

preemptor synthetic_cluster::lone_pod(std::size_t number) const {
  return preemptor_of(number, 1, 1 + static_cast<std::int64_t>(mix(seed + 1, number) % 4));
}

preemptor synthetic_cluster::gang(std::size_t number, std::size_t pods) const {
  return preemptor_of(number, pods, 1 + static_cast<std::int64_t>(mix(seed + 1, number) % 2));
}

preemptor synthetic_cluster::too_large(std::size_t number) const {
  return preemptor_of(number, 1, gpus_per_node + 1);
}

} // namespace reprieve
