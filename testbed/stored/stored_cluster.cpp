#include "testbed/stored/stored_cluster.hpp"

#include "preemption/problem/preemptor.hpp"
#include "protocol/records/records.hpp"
#include "state/containers/row_index.hpp"
#include "state/records/keys.hpp"
#include "testbed/stored/bulk_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

constexpr std::int64_t memory_per_pod = std::int64_t{4} << 30;
constexpr std::int32_t priorities = 8;

} // namespace

std::string stored_cluster::node_name(std::size_t number) {
  return fmt::format("node-{:06}", number);
}

std::string stored_cluster::last_workload() const {
  return workload_at((nodes * pods_per_node - 1) / workload_size).spec->name;
}

workload stored_cluster::lone_pod(std::string name, std::int32_t priority) {
  workload made;
  made.name = std::move(name);
  made.priority = priority;
  auto& group = made.groups.emplace_back();
  group.name = "workers";
  group.pods.requests = {{"cpu", 1000}, {"memory", memory_per_pod}};
  return made;
}

workload_record stored_cluster::workload_at(std::size_t number) const {
  const auto priority = 100 * static_cast<std::int32_t>(mix(1, number) % priorities);
  auto spec = lone_pod(fmt::format("job-{:07}", number), priority);
  spec.groups.front().count = static_cast<std::int32_t>(
    std::min(workload_size, nodes * pods_per_node - number * workload_size));
  workload_record made;
  made.spec = std::move(spec);
  made.status.uid = fmt::format("u{:07}", number);
  made.status.generation = 1;
  made.status.submitted = now;
  made.status.resolved = {priority, priority, true};
  made.status.by_group = {made.status.resolved};
  return made;
}

node_record stored_cluster::node_at(std::size_t number) const {
  node spec;
  spec.name = node_name(number);
  spec.labels = {{"zone", fmt::format("zone-{}", number % 3)},
                 {"rack", fmt::format("rack-{}", number / 32)}};
  const auto room = static_cast<std::int64_t>(pods_per_node + spare_per_node);
  spec.capacity = {{"cpu", 1000 * room}, {"memory", memory_per_pod * room}, {"pods", 4 * room}};
  node_record made;
  made.spec = std::move(spec);
  for (std::size_t k = 0; k < pods_per_node; ++k) {
    const auto in_all = k * nodes + number;
    const auto owner = workload_at(in_all / workload_size);
    auto p =
      pod_at(owner.spec, owner.status, 0, 0, static_cast<std::int32_t>(in_all % workload_size), 0);
    p.node = made.spec->name;
    p.phase = pod_phase::running;
    p.started = now + std::chrono::seconds{mix(2, in_all) % 86'400};
    p.created = p.started;
    put_pod(made, std::move(p));
  }
  return made;
}

void stored_cluster::write_to(store& to) const {
  bulk_writer writer{to};
  schema_record schema;
  schema.cluster = "made-up";
  schema.created = now;
  schema.node_shards = node_shards;
  schema.workload_shards = workload_shards;
  writer.write(std::string(keys::schema), encode(schema));
  const std::string group = "default";
  const auto pods = nodes * pods_per_node;
  for (std::size_t number = 0; number * workload_size < pods; ++number) {
    const auto record = workload_at(number);
    const auto& name = record.spec->name;
    writer.write(keys::workload(shard_name(group, shard_number(name, workload_shards)), name),
                 encode(record));
  }
  for (std::size_t number = 0; number < nodes; ++number) {
    const auto record = node_at(number);
    const auto& name = record.spec->name;
    writer.write(keys::node(shard_name(group, shard_number(name, node_shards)), name),
                 encode(record));
  }
  writer.finish();
}

} // namespace reprieve
