#pragma once

#include "preemption/policies/queues/queue_stage.hpp"

#include <string>
#include <string_view>

namespace reprieve {

/// As the seed numbers them: `01.1`, `01.2`, `02`, `03`.
std::string_view number_of(queue_case stands);

/// Why the queue gave or received what it did of one resource, in one sentence.
std::string why_moved(const queue_line& line);

} // namespace reprieve
