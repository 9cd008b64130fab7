#include "apps/cli/messages.hpp"

#include "apps/cli/output.hpp"
#include "state/text/printable.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

namespace reprieve::cli {

std::string for_terminal(std::string_view sentence) {
  constexpr std::size_t most = 64 << 10;
  return printable(sentence, most);
}

int fail(int code, std::string_view message) {
  fmt::print(stderr, "reprieve: {}\n", for_terminal(message));
  return code;
}

int fail(int code, const absl::Status& why) {
  return fail(code, std::string(why.message()));
}

int fail(const absl::Status& why) {
  return fail(absl::IsInvalidArgument(why) ? bad_input : failed, why);
}

void tell_age(duration age, const std::string& missing) {
  if (age > duration{0})
    fmt::print(stderr, "reprieve: this is {} old: who owns it does not answer\n",
               format_duration(std::chrono::round<std::chrono::milliseconds>(age)));
  if (!missing.empty())
    fmt::print(stderr, "reprieve: {}\n", for_terminal(missing));
}

} // namespace reprieve::cli
