#pragma once

#include "protocol/manifest/manifest_tree.hpp"

#include <string>

namespace reprieve {

/// A block-style document that parses to the same tree.
std::string yaml_text(const manifest_tree& tree);

/// The same as indented JSON. Bytes that are not UTF-8 become U+FFFD in both.
std::string json_text(const manifest_tree& tree);

} // namespace reprieve
