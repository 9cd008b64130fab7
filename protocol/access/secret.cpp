#include "protocol/access/secret.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cstdlib>

namespace reprieve {

std::string new_secret() {
  std::array<unsigned char, 32> random{};
  // So few bytes come whole, and only a system without a source of them fails.
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    std::abort();
  return fmt::format("{:02x}", fmt::join(random, ""));
}

bool is_secret(std::string_view shown, std::string_view secret) {
  unsigned char differ = shown.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < shown.size() && i < secret.size(); ++i)
    differ |= static_cast<unsigned char>(shown[i]) ^ static_cast<unsigned char>(secret[i]);
  return differ == 0;
}

} // namespace reprieve
