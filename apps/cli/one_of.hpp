#pragma once

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace reprieve::cli {

/// Takes one of these words, and names them all where it is given another.
inline CLI::Validator one_of(std::vector<std::string> words) {
  return {[words = std::move(words)](std::string& given) {
            if (std::ranges::find(words, given) != words.end())
              return std::string{};
            return fmt::format("\"{}\" is not known; give one of {}", given,
                               fmt::join(words, ", "));
          },
          ""};
}

} // namespace reprieve::cli
