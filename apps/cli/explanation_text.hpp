#pragma once

#include "state/model/requests.hpp"

#include <string>
#include <string_view>

namespace reprieve {

/// What a plan says, with these lines about what became of it in between.
std::string plan_lines(const decision& d, std::string_view what_became_of_it = {});

/// A decision told to a person: what, for whom, at whose cost, and why not otherwise.
std::string decision_story(const decision& d);

/// All decisions about a subject, and why it still waits.
std::string explanation_story(const explanation& e);

} // namespace reprieve
