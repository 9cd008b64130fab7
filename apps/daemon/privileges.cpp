#include "apps/daemon/privileges.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace reprieve {

static absl::Status refused(const std::string& what, int error) {
  return absl::PermissionDeniedError(
    fmt::format("{}: {}", what, std::generic_category().message(error)));
}

absl::Status become(const std::string& user, const std::string& data) {
  errno = 0;
  const auto* found = getpwnam(user.c_str());
  if (found == nullptr)
    return absl::InvalidArgumentError(fmt::format(
      "there is no user {} on this machine; make one, or give another with --user", user));
  const auto id = found->pw_uid;
  const auto group = found->pw_gid;
  if (geteuid() == id)
    return absl::OkStatus();
  if (geteuid() != 0)
    return absl::PermissionDeniedError(fmt::format(
      "only root can go on as {}; start reprieved as {} and leave --user out", user, user));
  if (mkdir(data.c_str(), S_IRWXU) == 0) {
    if (chown(data.c_str(), id, group) != 0)
      return refused(fmt::format("can't give {} to {}", data, user), errno);
  } else if (errno != EEXIST) {
    return refused(fmt::format("can't make the data directory {}", data), errno);
  }
  if (initgroups(user.c_str(), group) != 0 || setresgid(group, group, group) != 0
      || setresuid(id, id, id) != 0)
    return refused(fmt::format("can't go on as {}", user), errno);
  if (setuid(0) == 0) // it must not come back
    return absl::InternalError(fmt::format("the rights of root stay with {}", user));
  if (access(data.c_str(), R_OK | W_OK | X_OK) != 0)
    return refused(fmt::format("{} can't use {}; give it to that user with chown -R", user, data),
                   errno);
  return absl::OkStatus();
}

} // namespace reprieve
