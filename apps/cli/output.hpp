#pragma once

namespace reprieve::cli {

/// How results are printed.
enum class output { table, json, yaml };

/// What a command ends with: done, refused by the server or not found, or bad input.
inline constexpr int done = 0;
inline constexpr int failed = 1;
inline constexpr int bad_input = 2;

} // namespace reprieve::cli
