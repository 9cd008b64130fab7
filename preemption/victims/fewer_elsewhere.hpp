#pragma once

#include "preemption/pipeline/domains.hpp"
#include "preemption/room/domain_room.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace reprieve {

/// Whether some of those who would go for a domain would do by themselves in another one, as a
/// portion with pods in several makes room in each. Nobody goes who is not needed
/// (docs/policies.md#workload-aware), and be it that the others would then have to preempt to run
/// again.
class fewer_elsewhere {
public:
  explicit fewer_elsewhere(const problem& given);

  /// The name of such a domain; empty where there is none. `victims` are most important first.
  std::string_view find(const domain_room& where, std::span<const portion_row> victims);

private:
  bool some_are_enough(std::span<const node_row> nodes, std::span<const portion_row> victims);

  const problem& given_;
  domain_room room_;
  std::optional<domain_set> domains_; ///< of a gang, once they are asked for
  std::vector<node_row> others_;
};

} // namespace reprieve
