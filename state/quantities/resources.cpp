#include "state/quantities/resources.hpp"

namespace reprieve {

std::int64_t amount_of(const resources& from, std::string_view name) {
  const auto found = from.find(name);
  return found == from.end() ? 0 : found->second;
}

} // namespace reprieve
