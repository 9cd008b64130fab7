#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What a caller may do; see `check_access`.
enum class caller_role {
  none,             ///< nothing at all: known, and shut out
  viewer,           ///< reads
  submitter,        ///< reads, and workloads of its queues
  cluster_operator, ///< reads, and what the cluster consists of
  admin             ///< everything
};

/// `operator` and the like, as files and certificates spell them.
std::string_view to_string(caller_role role);

/// The role of that name, or nothing.
std::optional<caller_role> role_from(std::string_view text);

/// In the list of a submitter's queues: all of them.
inline constexpr std::string_view every_queue = "*";

/// Somebody who calls the API, once it is clear who that is.
struct caller {
  std::string name;
  caller_role role = caller_role::none;
  std::vector<std::string> queues{}; ///< of a submitter

  bool operator==(const caller&) const = default;
};

} // namespace reprieve
