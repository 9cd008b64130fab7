#pragma once

#include "state/model/pod.hpp"
#include "state/model/queue.hpp"
#include "tests/trace/outcome.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace reprieve::trace {

/// What the API shows at one moment.
struct sight {
  milliseconds at{0};
  std::vector<pod> pods;
  std::map<std::string, queue_status> queues;
  std::set<std::size_t> waiting; ///< arrivals that have no pod and may have one
};

/// Follows for how long pods wait while they fit: in room that nobody takes and no decision holds,
/// behind those that are served before them, and within what their queue deserves or was allocated.
class fitting_watch {
public:
  explicit fitting_watch(const replay_plan& plan) : plan_(plan) {}

  void look(const sight& seen);

  milliseconds longest() const {
    return longest_;
  }
  /// Who waited for that long.
  const std::string& who() const {
    return who_;
  }

private:
  const replay_plan& plan_;
  std::map<std::size_t, milliseconds> fits_since_; ///< by arrival
  milliseconds longest_{0};
  std::string who_;
};

/// What is free on each machine for those that wait: without what pods take, and what is held for
/// nominated pods beyond the room that their own victims leave.
std::map<std::string, room> free_room(const replay_plan& plan, const std::vector<pod>& pods);

/// The name of the queue of that number.
std::string queue_name(std::size_t number);

room room_of(const resources& amounts);
resources resources_of(const room& asks);

} // namespace reprieve::trace
