#pragma once

#include "tests/engine/worlds/plan_reading.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

/// A cluster as plain objects, for tests that compute again what the engine says without its view.
namespace reprieve::tests {

/// A portion and its pods that are not leaving.
struct plain_portion {
  portion_id id;
  std::int32_t priority = 0;
  time_point start = time_point::max();
  bool movable = true; ///< without daemons and protected members
  std::vector<const pod*> pods;
};

using room_by_node = std::map<std::string, resources>;

class plain_cluster {
public:
  plain_cluster(const std::vector<node>& nodes, const std::vector<pod>& pods);

  const std::vector<plain_portion>& portions() const {
    return portions_;
  }

  /// The room with those gone who leave anyway, and these.
  room_by_node room_without(const std::set<portion_id>& gone) const;

private:
  const std::vector<node>& nodes_;
  std::vector<plain_portion> portions_; ///< in order of id
};

bool fits(const resources& room, const resources& request);
/// What a pod takes, added or (by -1) taken away.
void add(resources& to, const resources& request, std::int64_t sign);
/// How many pods of one size fit, up to `most`.
std::int64_t seat_count(room_by_node room, const resources& request, std::int64_t most);

std::set<portion_id> portions_that_go(const plan& made);

/// Everything in it is equal.
bool same(const plan& a, const plan& b);

} // namespace reprieve::tests
