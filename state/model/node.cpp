#include "state/model/node.hpp"

namespace reprieve {

bool tolerates(const toleration& by, const taint& t) {
  if (by.effect && *by.effect != t.effect)
    return false;
  if (by.key.empty())
    return by.any_value;
  return by.key == t.key && (by.any_value || by.value == t.value);
}

} // namespace reprieve
