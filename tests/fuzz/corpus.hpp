#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace reprieve {

/// Inputs that `make` makes of what it draws; the same ones each time. The first are small.
std::vector<std::string> drawn(std::size_t count, const std::function<std::string()>& make);

/// All files below a folder of the tree, in order of their paths.
std::vector<std::string> files_below(const std::string& folder);

void add_to(std::vector<std::string>& corpus, std::vector<std::string> more);

} // namespace reprieve
