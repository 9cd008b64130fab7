#pragma once

#include "actors/gateway/gateway.hpp"

#include <functional>
#include <list>
#include <map>
#include <vector>

/// How a batch of objects that were admitted together becomes durable.
namespace reprieve {

using batch_pointer = std::list<admitted_batch>::iterator;

/// How a batch is written.
struct batch_terms {
  revision known_at = 0; ///< where the catalog stood that it was let in by
  /// What whoever applies it is told of each object; of none where it is empty.
  std::map<object_reference, apply_outcome> told;

  void add(const object& what, std::vector<apply_outcome>& to) const {
    if (const auto found = told.find({kind_of(what), name_of(what)}); found != told.end())
      to.push_back(found->second);
  }
};

/// Makes all of the batch durable, or nothing of it.
void write_batch(gateway_pointer self, batch_pointer batch, const batch_terms& terms,
                 std::function<void(absl::Status)> done);

/// Others are served by now, for whom a batch may have waited.
void look_at_groups(gateway_state& state);

} // namespace reprieve
