#pragma once

#include "state/store/store.hpp"

#include <string>
#include <vector>

namespace reprieve {

/// What is wrong with the archive of finished decisions in these keys of a store, in words: what is
/// kept is found by its workloads, counted as what it takes, and nothing is left of what is not.
/// Decisions may be open; none is being written.
std::vector<std::string> faults_of_archive(const std::vector<key_value>& all);

} // namespace reprieve
