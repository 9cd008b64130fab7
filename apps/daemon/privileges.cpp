#include "apps/daemon/privileges.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace reprieve {

namespace {

absl::Status refused(const std::string& what, int error) {
  return absl::PermissionDeniedError(
    fmt::format("{}: {}", what, std::generic_category().message(error)));
}

/// Closes it at the end.
struct opened {
  int descriptor = -1;

  ~opened() {
    if (descriptor >= 0)
      close(descriptor);
  }
};

/// Makes the directory where it is not there. By descriptors, so that nobody who can write where it
/// stands has root give away what a link in its place leads to.
absl::Status make_for(const std::string& data, uid_t id, gid_t group, const std::string& user) {
  auto path = std::filesystem::path(data);
  if (path.filename().empty()) // it ends in a slash
    path = path.parent_path();
  const auto above = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const auto name = path.has_filename() ? path.filename() : std::filesystem::path(".");
  const opened place{open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (place.descriptor < 0 || mkdirat(place.descriptor, name.c_str(), S_IRWXU) != 0)
    return errno == EEXIST ? absl::OkStatus()
                           : refused(fmt::format("can't make the data directory {}", data), errno);
  const opened made{
    openat(place.descriptor, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (made.descriptor < 0 || fchown(made.descriptor, id, group) != 0)
    return refused(fmt::format("can't give {} to {}", data, user), errno);
  return absl::OkStatus();
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
  if (auto made = make_for(data, id, group, user); !made.ok())
    return made;
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

} // namespace

absl::Status give_up_rights(const std::string& user, const std::string& data,
                            const std::function<void(const std::string&)>& say) {
  if (!user.empty())
    if (auto changed = become(user, data); !changed.ok())
      return changed;
  if (geteuid() == 0)
    say("warning: it runs as root; give --user with a user of its own");
  return absl::OkStatus();
}

} // namespace reprieve
