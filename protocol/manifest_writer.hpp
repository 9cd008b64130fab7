#pragma once

#include "state/object.hpp"

#include <string>

namespace reprieve {

/// A manifest that reads back to the same object, ended by a line break. Fields that have their
/// default are left out. Several of these become one YAML file with `---` lines between them.
std::string write_yaml(const object& o);
std::string write_json(const object& o);

/// The same with what happened so far under `status`, which the reader ignores.
std::string write_yaml(const workload& w, const workload_status& status);
std::string write_json(const workload& w, const workload_status& status);
std::string write_yaml(const queue& q, const queue_status& status);
std::string write_json(const queue& q, const queue_status& status);
std::string write_yaml(const node& n, const node_status& status);
std::string write_json(const node& n, const node_status& status);

} // namespace reprieve
