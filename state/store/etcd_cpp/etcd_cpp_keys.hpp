#pragma once

#include "state/store/etcd/etcd_keys.hpp"

#include <etcd/Value.hpp>

namespace reprieve {

inline key_value from_etcd(const etcd_keys& keys, const etcd::Value& found) {
  return {.key = keys.from_etcd(found.key()),
          .value = found.as_string(),
          .created = found.created_index(),
          .modified = found.modified_index(),
          .version = found.version(),
          .lease = found.lease()};
}

/// Where a range in etcd ends, also that of one key: the library's reads of one key differ from
/// those of many, in that what is not there is an error.
inline std::string end_of(const key_range& range) {
  return range.end.empty() ? range.begin + '\0' : range.end;
}

} // namespace reprieve
