#pragma once

#include <cstdint>

namespace reprieve {

/// Gives this process as many descriptors as the system lets it have. Returns how many.
std::int64_t raise_descriptor_limit();

} // namespace reprieve
