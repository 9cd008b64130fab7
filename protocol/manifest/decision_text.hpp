#pragma once

#include "state/model/requests.hpp"

#include <string>

namespace reprieve {

/// An explanation as JSON, fields named as in the API.
std::string explanation_json(const explanation& e);

/// The same as YAML.
std::string explanation_yaml(const explanation& e);

/// An event as one line of JSON.
std::string event_json(const event& e);

} // namespace reprieve
