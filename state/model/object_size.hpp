#pragma once

#include "state/model/workload.hpp"

#include <cstddef>

/// What objects take in their records, rather too much than too little. Numbers count as the most
/// that they may take.
namespace reprieve {

std::size_t bytes_of(const string_map& texts);
std::size_t bytes_of(const resources& amounts);
std::size_t bytes_of(const pod_template& pods);
std::size_t bytes_of(const pod_group& group);
std::size_t bytes_of(const workload& w);

} // namespace reprieve
