#pragma once

#include "tests/support/queue_builder.hpp"

#include <functional>

/// Queues with their pods drawn by rapidcheck; only while a property runs.
namespace reprieve::tests {

/// A tree of a few queues, well filled: some overused, some new, some with pods of their own beside
/// their children; pods that leave, that may not go, or that are in no queue.
queue_stage_input draw_input();

/// Fails where one check does.
void for_random_inputs(const std::function<void(const queue_stage_input&)>& check);

} // namespace reprieve::tests
