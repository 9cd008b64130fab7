#pragma once

#include "state/store/store.hpp"

#include <string>
#include <vector>

namespace reprieve::replicas {

/// What stands in etcd below the prefix, read past all replicas; nothing where it does not answer.
std::vector<key_value> read_keys(const std::vector<std::string>& etcd, const std::string& prefix);

/// The decisions that are open there, or -1.
int open_decisions(const std::vector<std::string>& etcd);

} // namespace reprieve::replicas
