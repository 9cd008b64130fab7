#pragma once

#include "state/model/object.hpp"

#include <string>

namespace reprieve {

/// A manifest that reads back to the same object, ended by a line break. Fields that have their
/// default are left out. Several of these become one YAML file with `---` lines between them.
std::string write_yaml(const object& o);
std::string write_json(const object& o);

/// The same with what has come of it under `status`, where that is known. It reads back in
/// snapshots; elsewhere the reader ignores it.
std::string write_yaml(const object& o, const object_status& status);
std::string write_json(const object& o, const object_status& status);

} // namespace reprieve
