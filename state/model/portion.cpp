#include "state/model/portion.hpp"

namespace reprieve {

std::string to_string(const portion_id& id) {
  auto text = id.workload + "/" + id.group + "/" + std::to_string(id.replica);
  return id.whole_replica() ? text : text + "/" + std::to_string(id.index);
}

} // namespace reprieve
