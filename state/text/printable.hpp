#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reprieve {

/// What somebody wrote, to be quoted in a sentence or a log: on one line, without control
/// characters, and of so many bytes at most.
std::string printable(std::string_view text, std::size_t most = 256);

} // namespace reprieve
