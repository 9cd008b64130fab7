#pragma once

#include "actors/workload_shard/workload_shard.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace reprieve {

template <class Record>
using changes_of = std::map<std::string, std::shared_ptr<Record>, std::less<>>;

/// New forms of records by name; null erases.
struct shard_changes {
  changes_of<workload_record> workloads;
  changes_of<disruption_budget> budgets;
  changes_of<placement> placements;
};

/// A copy of the newest form, to be changed; null where there is no such workload.
std::shared_ptr<workload_record> edit(const workload_shard_state& state, std::string_view name);

/// Whether the name is taken: by a record, be it one that can't be read.
bool has_name(const workload_shard_state& state, object_kind kind, std::string_view name,
              bool has_record);

/// Makes the changes durable, then visible, then answers.
void write_changes(workload_shard_pointer self, shard_changes changes, status_answer answer,
                   write_terms terms = {});

} // namespace reprieve
