#include "protocol/transport/connection_door.hpp"

#include "protocol/access/listen_address.hpp"
#include "state/text/printable.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

using std::chrono::steady_clock;

/// Connections are counted anew, where there seem to be too many, at most that often; and it is
/// said that some were turned away.
constexpr std::chrono::milliseconds between_counts{50};
constexpr std::chrono::seconds between_words{10};

/// What a stranger may send: a first call, with as much of its body as comes before it is read,
/// which is one window of HTTP/2. And what all of them may have sent together: gRPC keeps all of a
/// header block until its end.
constexpr std::uint64_t most_stranger_bytes = 96 << 10;
constexpr std::uint64_t most_bytes_of_strangers = 8 << 20;
/// As much as has come by a connection and was not read.
constexpr std::size_t most_in_a_socket = 16 << 20;
/// How many calls of a connection may be refused, and how many of all strangers of an address in a
/// second. What gRPC keeps of each until the other end has taken the answer is some 25 KB.
constexpr int most_refusals_of_strangers = 20;
constexpr std::int64_t refusals_per_second = 100;
constexpr int most_refusals = 5000;
constexpr std::chrono::seconds refusals_count_for{10};
constexpr std::chrono::milliseconds between_looks{20};

/// The address and the port of the other end. gRPC writes those of IPv6 with brackets, as in the
/// address of a page, and with the number of a network card where one belongs to them.
std::string end_of_peer(std::string_view peer) {
  const auto port = peer.rfind(':');
  const auto kind = peer.find(':');
  if (port == std::string_view::npos || kind == port)
    return {};
  auto host = peer.substr(kind + 1, port - kind - 1);
  for (const std::string_view bracket : {"%5B", "["})
    if (host.starts_with(bracket))
      host.remove_prefix(bracket.size());
  host = host.substr(0, host.find_first_of("%]"));
  return fmt::format("{}{}", host, peer.substr(port));
}

std::uint16_t port_of(const sockaddr_storage& from) {
  return ntohs(from.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(from).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(from).sin_port);
}

std::uint64_t bytes_received(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received
                                                                          : 0;
}

/// For how long neither side has said anything; nothing is known of those that come by a path.
std::chrono::milliseconds silence_of(const open_connection& one) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(one.descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
    return {};
  return std::chrono::milliseconds{std::min(info.tcpi_last_data_recv, info.tcpi_last_data_sent)};
}

std::string address_of(const sockaddr_storage& from) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (from.ss_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, text.data(),
              text.size());
  else if (from.ss_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(from).sin6_addr, text.data(),
              text.size());
  // One of IPv4 that came in where IPv6 listens.
  std::string_view host = text.data();
  if (constexpr std::string_view mapped = "::ffff:";
      host.starts_with(mapped) && host.find('.') != host.npos)
    host.remove_prefix(mapped.size());
  return std::string(host);
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
    : with_(std::move(with)), sockets_(std::move(sockets)),
      open_({with_.most, with_.most_per_host}), refusals_by_host_(refusals_per_second),
      spare_(open_spare()), ending_(eventfd(0, EFD_CLOEXEC)) {}

connection_door::~connection_door() {
  close();
  ::close(spare_);
  ::close(ending_);
}

void connection_door::lead_to(grpc::ServerBuilder& builder,
                              std::shared_ptr<grpc::ServerCredentials> credentials) {
  // A message that is compressed would be unpacked before anybody sees how large it gets.
  for (const auto way : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
    builder.SetCompressionAlgorithmSupportStatus(way, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
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
  for (bool strangers = false;; strangers = look_at_strangers()) {
    const int longest = strangers ? static_cast<int>(between_looks.count()) : -1;
    if (poll(waited.data(), waited.size(), longest) < 0)
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
      pollfd end{ending_, POLLIN, 0};
      (void)poll(&end, 1, static_cast<int>(between_counts.count()));
      return; // so that the end is seen, and strangers whose time is over give theirs back
    }
    auto address = address_of(from);
    const auto host = network_of(address);
    if (!has_room_for(host)) {
      turn_away(descriptor, host);
      continue;
    }
    const int on = 1;
    if (from.ss_family != AF_UNIX)
      (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    note(descriptor, std::move(address),
         from.ss_family == AF_UNIX ? std::uint16_t{0} : port_of(from));
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters come;
    come.listener_fd = listening;
    come.fd = descriptor;
    server_->HandleNewConnection(&come);
  }
}

void connection_door::note(int descriptor, std::string address, std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  open_connection one;
  one.descriptor = descriptor;
  one.socket = socket_of(descriptor);
  one.host = network_of(address);
  one.since = steady_clock::now();
  // Programs of this machine that come by a path have no port to be told apart by.
  one.known = address.empty();
  one.end = one.known ? fmt::format("path {}", ++last_path_) : fmt::format("{}:{}", address, port);
  if (auto* before = open_.find(one.end))
    open_.forget(*before); // its end was not seen yet
  open_.add(std::move(one));
}

bool connection_door::has_room_for(const std::string& host) {
  std::unique_lock lock(mutex_);
  if (!open_.is_full_for(host))
    return true;
  if (const auto now = steady_clock::now(); now - counted_ >= between_counts) {
    counted_ = now;
    count_anew();
    if (!open_.is_full_for(host))
      return true;
  }
  gave_way_.clear();
  const bool has_room = make_room_for(host) && !open_.is_full_for(host);
  const auto whose = gave_way_;
  lock.unlock();
  if (!whose.empty())
    say_of(ended_, "were ended to make room for others", whose);
  return has_room;
}

bool connection_door::make_room_for(const std::string& host) {
  auto* goes = open_.to_end_for(host, steady_clock::now(), silence_of);
  if (goes == nullptr)
    return false;
  if (goes->known)
    gave_way_ = goes->caller.empty() ? goes->host : goes->caller;
  end(*goes);
  open_.forget(*goes);
  return true;
}

bool connection_door::look_at_strangers() {
  const std::lock_guard lock(mutex_);
  const auto now = steady_clock::now();
  const auto& strangers = open_.strangers();
  std::uint64_t in_all = 0;
  std::vector<std::pair<std::uint64_t, open_connection*>> by_bytes;
  for (auto next = strangers.begin(); next != strangers.end();) {
    auto& is = *next->second;
    ++next; // before it is forgotten
    if (socket_of(is.descriptor) != is.socket) {
      open_.forget(is);
      continue;
    }
    const auto bytes = bytes_received(is.descriptor);
    if (now - is.since >= with_.for_strangers || bytes > most_stranger_bytes) {
      end(is);
      open_.forget(is);
      continue;
    }
    in_all += bytes;
    by_bytes.emplace_back(bytes, &is);
  }
  if (in_all > most_bytes_of_strangers)
    std::ranges::sort(by_bytes, std::greater{});
  for (auto most = by_bytes.begin(); in_all > most_bytes_of_strangers; ++most) {
    in_all -= most->first;
    end(*most->second);
    open_.forget(*most->second);
  }
  return !strangers.empty();
}

void connection_door::let_in_call(const std::string& peer, const std::string& caller) {
  const std::lock_guard lock(mutex_);
  if (auto* one = open_.find(end_of_peer(peer)))
    open_.let_in_call(*one, caller);
}

void connection_door::refused_call(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  auto* found = open_.find(end_of_peer(peer));
  if (found == nullptr)
    return;
  auto& one = *found;
  const auto now = steady_clock::now();
  if (now - one.refused_since >= refusals_count_for) {
    one.refused_since = now;
    one.refusals = 0;
  }
  ++one.refusals;
  const bool too_many = one.known ? one.refusals > most_refusals
                                  : one.refusals > most_refusals_of_strangers
                                      || refusals_by_host_.take(one.host, now) > duration::zero();
  if (!too_many)
    return;
  end(one);
  open_.forget(one);
}

void connection_door::end(const open_connection& which) {
  // gRPC sees the end of it, and closes the descriptor. What has come and was not read yet goes
  // with it: else it would be taken for calls all the same.
  if (socket_of(which.descriptor) != which.socket)
    return;
  (void)::shutdown(which.descriptor, SHUT_RDWR);
  (void)::recv(which.descriptor, nullptr, most_in_a_socket, MSG_TRUNC | MSG_DONTWAIT);
}

void connection_door::count_anew() {
  for (auto next = open_.all().begin(); next != open_.all().end();) {
    auto& one = (next++)->second; // before it is forgotten
    if (socket_of(one.descriptor) != one.socket)
      open_.forget(one);
  }
}

void connection_door::turn_away(int descriptor, const std::string& host) {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  say_of(turned_away_, "were turned away", host);
}

void connection_door::say_of(notice& which, std::string_view what, std::string_view whose) {
  ++which.count;
  const auto now = steady_clock::now();
  if (which.said != instant{} && now - which.said < between_words)
    return;
  which.said = now;
  std::unique_lock lock(mutex_);
  const auto open = open_.all().size();
  lock.unlock();
  with_.say(fmt::format("{} connections to {} {}, the last one of {}: {} are open, and there may "
                        "be {}, {} of one address",
                        std::exchange(which.count, 0), address(), what, printable(whose), open,
                        with_.most, with_.most_per_host));
}

} // namespace reprieve
