#include "protocol/transport/listening_sockets.hpp"

#include "protocol/access/listen_address.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace reprieve {

namespace {

constexpr std::string_view path_prefix = "unix:";

std::string reason(int error) {
  return std::generic_category().message(error);
}

/// A socket that is bound and listens, or -1 with errno.
int listen_at(const sockaddr* where, socklen_t size, bool also_ipv4 = false) {
  const int made = socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0)
    return -1;
  const int on = 1;
  (void)setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // One socket for each kind of address where a name stands for both.
  if (where->sa_family == AF_INET6 && !also_ipv4)
    (void)setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (bind(made, where, size) == 0 && listen(made, SOMAXCONN) == 0)
    return made;
  const int error = errno;
  close(made);
  errno = error;
  return -1;
}

std::uint16_t& port_of(sockaddr_storage& at) {
  return at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(at).sin6_port
                                  : reinterpret_cast<sockaddr_in&>(at).sin_port;
}

std::uint16_t port_taken(int listening) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    return 0;
  return ntohs(port_of(at));
}

} // namespace

absl::StatusOr<listening_sockets> listening_sockets::open(const std::string& address) {
  listening_sockets made;
  absl::Status opened;
  if (address.starts_with(path_prefix)) {
    opened = made.open_path(address.substr(path_prefix.size()));
    made.address_ = address;
  } else {
    const auto colon = address.rfind(':');
    if (colon == std::string::npos)
      return absl::InvalidArgumentError(
        fmt::format("can't listen on '{}'; give host:port, such as 127.0.0.1:7420", address));
    opened = made.open_host(host_of(address), address.substr(colon + 1));
    if (opened.ok())
      made.address_ =
        fmt::format("{}:{}", address.substr(0, colon), port_taken(made.descriptors_.front()));
  }
  if (!opened.ok())
    return absl::Status(
      opened.code(), fmt::format("can't listen on {}: {}", address, std::string(opened.message())));
  return made;
}

absl::Status listening_sockets::open_path(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof at.sun_path)
    return absl::InvalidArgumentError(
      fmt::format("a path of 1 to {} bytes is needed", sizeof at.sun_path - 1));
  std::memcpy(at.sun_path, path.data(), path.size());
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode))
    unlink(path.c_str()); // of a process that has ended
  const int made = listen_at(reinterpret_cast<const sockaddr*>(&at), sizeof at);
  if (made < 0)
    return absl::UnavailableError(reason(errno));
  descriptors_.push_back(made);
  return absl::OkStatus();
}

absl::Status listening_sockets::open_host(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    return absl::InvalidArgumentError(gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  int error = 0;
  for (const auto* one = all.get(); one != nullptr; one = one->ai_next) {
    sockaddr_storage at{};
    std::memcpy(&at, one->ai_addr, one->ai_addrlen);
    if (port_of(at) == 0 && !descriptors_.empty())
      port_of(at) = htons(port_taken(descriptors_.front()));
    const int made =
      listen_at(reinterpret_cast<const sockaddr*>(&at), one->ai_addrlen, host == "::");
    if (made >= 0)
      descriptors_.push_back(made);
    else if (error == 0)
      error = errno;
  }
  // A machine may lack one of the two kinds; that somebody else has the port is no such case.
  if (descriptors_.empty() || error == EADDRINUSE)
    return absl::UnavailableError(
      error == EADDRINUSE ? std::string("another program is there; give another with --listen")
                          : reason(error));
  return absl::OkStatus();
}

listening_sockets::listening_sockets(listening_sockets&& other) noexcept
    : descriptors_(std::exchange(other.descriptors_, {})), address_(std::move(other.address_)) {}

listening_sockets& listening_sockets::operator=(listening_sockets&& other) noexcept {
  std::swap(descriptors_, other.descriptors_);
  std::swap(address_, other.address_);
  return *this;
}

listening_sockets::~listening_sockets() {
  for (const int one : descriptors_)
    close(one);
}

} // namespace reprieve
