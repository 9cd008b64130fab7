#pragma once

#include <string>
#include <string_view>

namespace reprieve {

/// Text that nobody can guess.
std::string new_secret();

/// Whether both are the same; takes as long wherever they differ.
bool is_secret(std::string_view shown, std::string_view secret);

} // namespace reprieve
