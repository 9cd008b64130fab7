#pragma once

#include "state/requests.hpp"

#include <string>

namespace reprieve {

/// What a plan says, without what became of it.
std::string plan_lines(const decision& d);

/// A decision told to a person: what, for whom, at whose cost, and why not otherwise.
std::string decision_story(const decision& d);

/// All decisions about a subject, and why it still waits.
std::string explanation_story(const explanation& e);

} // namespace reprieve
