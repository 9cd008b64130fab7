#include "tests/actors/properties/cluster_records.hpp"

#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace reprieve::tests {

namespace {

void write(store& to, std::string key, std::string value) {
  to.commit({{}, {put{std::move(key), std::move(value), 0}}},
            [](const absl::StatusOr<transaction_result>& how) {
              EXPECT_TRUE(how.ok() && how->succeeded) << how.status();
            });
}

} // namespace

void cluster_records::write_to(store& to, std::uint32_t shards) const {
  schema_record schema;
  schema.cluster = "drawn";
  schema.created = around_now;
  schema.node_shards = shards;
  schema.workload_shards = shards;
  write(to, std::string(keys::schema), encode(schema));
  const std::string tree = "main";
  const auto& group = settings.name;
  write(to, keys::resource_group(tree, group), encode(settings));
  // The group may use all there is without asking, from the start.
  quota_record quota;
  quota.grants[group] = {};
  write(to, keys::quota(tree, default_queue), encode(quota));
  const auto shard_of = [&](std::string_view name) {
    return shard_name(group, shard_number(name, shards));
  };
  for (const auto& one : nodes)
    write(to, keys::node(shard_of(one.spec->name), one.spec->name), encode(one));
  for (const auto& one : workloads)
    write(to, keys::workload(shard_of(one.spec->name), one.spec->name), encode(one));
  for (const auto& one : budgets)
    write(to, keys::budget(shard_of(one.name), one.name), encode(one));
}

void cluster_records::change(const admitted& to) {
  const auto& name = name_of(to.what);
  const auto name_of_spec = [](const auto& record) -> const auto& {
    return record.spec->name;
  };
  if (const auto* n = std::get_if<node>(&to.what)) {
    std::ranges::find(nodes, name, name_of_spec)->spec = *n;
  } else if (const auto* w = std::get_if<workload>(&to.what)) {
    auto& record = *std::ranges::find(workloads, name, name_of_spec);
    record.spec = *w;
    record.status.resolved = to.priorities->whole;
    record.status.by_group = to.priorities->by_group;
  } else if (const auto* budget = std::get_if<disruption_budget>(&to.what)) {
    *std::ranges::find(budgets, name, &disruption_budget::name) = *budget;
  }
}

} // namespace reprieve::tests
