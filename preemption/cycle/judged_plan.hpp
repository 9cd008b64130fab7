#pragma once

#include "preemption/problem/plan.hpp"
#include "preemption/problem/preemptor.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace reprieve {

// Plans that a judgement changes after the engine has made them.

/// Keeps the first pods of each group, as many as are needed.
void keep_what_is_needed(const preemptor& who, plan& made);

/// The plan in a sentence, where the last so many of its victims go for the quota's sake alone. Its
/// result is still what it was without them.
std::string summary_of(const preemptor& who, const plan& made, std::size_t for_quota,
                       std::string_view whose, const std::string& why);

/// Leaves nothing of the plan but its policy.
void drop(plan& made, std::string policy);

} // namespace reprieve
