#include "protocol/limits/descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace reprieve {

std::int64_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return 256;
  // Beyond that some programs that are started take long to close them all.
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, 65'536);
  if (limit.rlim_cur < wanted) {
    const rlimit raised{wanted, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
      limit = raised;
  }
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, 65'536));
}

} // namespace reprieve
