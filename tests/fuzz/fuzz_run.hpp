#pragma once

#include "tests/fuzz/mutator.hpp"

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What is fed: `feed` gets an input and returns what it was refused with, or ok. Whatever it gets,
/// it must return, in bounded time and memory, and refuse with a sentence.
struct fuzz_target {
  std::string_view name;
  input_form form = input_form::bytes;
  std::vector<std::string> corpus; ///< inputs that are right
  std::function<absl::Status(const std::string& input)> feed;
  /// How much memory an input may take: so many bytes for each of its own, beside a fixed amount.
  std::size_t bytes_for_each = 2'000;
};

/// Feeds the corpus, and then 20,000 inputs that are made of it, or 1,000,000 where REPRIEVE_LONG
/// is set. REPRIEVE_FUZZ_SEED chooses others than usual; with REPRIEVE_FUZZ_ONLY, that one alone is
/// fed. Fails with the input and what plays it again, also where the process ends by it.
void run_fuzz(const fuzz_target& target);

} // namespace reprieve
