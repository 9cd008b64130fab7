#pragma once

#include <algorithm>
#include <cstdint>

namespace reprieve {

/// How much each client may have of what all of them share. Three quarters go to whoever comes
/// first; the last quarter is for clients that have little, so that a few who take all they can get
/// leave something to the others. Where the whole is eight times what one client may have, six use
/// up three quarters, and it takes 32 more to use up the rest.
struct fair_share {
  std::int64_t most = 0;
  std::int64_t most_per_client = 0;

  /// Clients with no more than this may have of the last quarter.
  constexpr std::int64_t little() const {
    return std::max<std::int64_t>(most_per_client / 16, 1);
  }

  /// The last quarter. Nothing where one client may have more than that: whoever sets the limits
  /// so means the whole for a few.
  constexpr std::int64_t kept_for_little() const {
    return most / 4 >= most_per_client ? most / 4 : 0;
  }

  /// Whether a client may have `own`, where all clients have `all` then.
  constexpr bool allows(std::int64_t own, std::int64_t all) const {
    return own <= most_per_client && all <= most - (own <= little() ? 0 : kept_for_little());
  }
};

} // namespace reprieve
