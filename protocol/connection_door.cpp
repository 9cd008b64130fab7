#include "protocol/connection_door.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace reprieve {

namespace {

using std::chrono::steady_clock;

/// Connections are counted anew, where there seem to be too many, at most that often; and it is
/// said that some were turned away.
constexpr std::chrono::milliseconds between_counts{50};
constexpr std::chrono::seconds between_words{10};

std::string host_of(const sockaddr_storage& from) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (from.ss_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, text.data(),
              text.size());
  else if (from.ss_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(from).sin6_addr, text.data(),
              text.size());
  return text.data();
}

/// Which socket the descriptor stands for; 0 for none.
ino_t socket_of(int descriptor) {
  struct stat is {};
  return fstat(descriptor, &is) == 0 && S_ISSOCK(is.st_mode) ? is.st_ino : 0;
}

int open_spare() {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

} // namespace

absl::StatusOr<std::unique_ptr<connection_door>> connection_door::open(const settings& with) {
  auto sockets = listening_sockets::open(with.listen);
  if (!sockets.ok())
    return sockets.status();
  return std::unique_ptr<connection_door>(new connection_door(with, *std::move(sockets)));
}

connection_door::connection_door(settings with, listening_sockets sockets)
    : with_(std::move(with)), sockets_(std::move(sockets)), spare_(open_spare()),
      ending_(eventfd(0, EFD_CLOEXEC)) {}

connection_door::~connection_door() {
  close();
  ::close(spare_);
  ::close(ending_);
}

void connection_door::lead_to(grpc::ServerBuilder& builder,
                              std::shared_ptr<grpc::ServerCredentials> credentials) {
  using from = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  server_ =
    builder.experimental().AddExternalConnectionAcceptor(from::FROM_FD, std::move(credentials));
}

void connection_door::let_in() {
  thread_ = std::thread([this] { run(); });
}

void connection_door::close() {
  if (!thread_.joinable())
    return;
  (void)eventfd_write(ending_, 1);
  thread_.join();
}

void connection_door::run() {
  std::vector<pollfd> waited{{ending_, POLLIN, 0}};
  for (const int one : sockets_.descriptors())
    waited.push_back({one, POLLIN, 0});
  for (;;) {
    if (poll(waited.data(), waited.size(), -1) < 0)
      continue;
    if (waited.front().revents != 0)
      return;
    for (const auto& one : waited)
      if (one.revents != 0)
        accept_all(one.fd);
  }
}

void connection_door::accept_all(int listening) {
  // Not for ever: others are to have their turn, and the end is to be seen.
  for (int i = 0; i < 100; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const int descriptor =
      accept4(listening, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
      if (errno != EMFILE && errno != ENFILE)
        return;
      // Others have used them all up. Whoever waits is told so by the end of the connection.
      ::close(std::exchange(spare_, -1));
      turn_away(accept(listening, nullptr, nullptr), "somebody");
      spare_ = open_spare();
      std::this_thread::sleep_for(between_counts);
      continue;
    }
    const auto host = host_of(from);
    if (!has_room_for(host)) {
      turn_away(descriptor, host);
      continue;
    }
    const int on = 1;
    if (from.ss_family != AF_UNIX)
      (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    open_.push_back({descriptor, socket_of(descriptor), host});
    ++by_host_[host];
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters come;
    come.listener_fd = listening;
    come.fd = descriptor;
    server_->HandleNewConnection(&come);
  }
}

bool connection_door::has_room_for(const std::string& host) {
  const auto full = [&] {
    const auto own = by_host_.find(host);
    return std::ssize(open_) >= with_.most
           || (own != by_host_.end() && own->second >= with_.most_per_host);
  };
  if (!full())
    return true;
  if (const auto now = steady_clock::now(); now - counted_ >= between_counts) {
    counted_ = now;
    count_anew();
  }
  return !full();
}

void connection_door::count_anew() {
  std::erase_if(open_, [this](const connection& one) {
    if (socket_of(one.descriptor) == one.socket)
      return false;
    const auto own = by_host_.find(one.host);
    if (--own->second == 0)
      by_host_.erase(own);
    return true;
  });
}

void connection_door::turn_away(int descriptor, const std::string& host) {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  ++turned_away_;
  const auto now = steady_clock::now();
  if (said_ != steady_clock::time_point{} && now - said_ < between_words)
    return;
  said_ = now;
  with_.say(
    fmt::format("{} connections to {} were turned away, the last one of {}: {} are open, and "
                "there may be {}, {} of one address",
                std::exchange(turned_away_, 0), address(), host, open_.size(), with_.most,
                with_.most_per_host));
}

} // namespace reprieve
