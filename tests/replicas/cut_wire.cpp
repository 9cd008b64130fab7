#include "tests/replicas/cut_wire.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <list>
#include <stdexcept>
#include <vector>

namespace reprieve::replicas {

namespace {

constexpr std::size_t most_waiting = 1 << 20;

sockaddr_in address_of(const std::string& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const auto colon = endpoint.rfind(':');
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1))));
  ::inet_pton(AF_INET, endpoint.substr(0, colon).c_str(), &address.sin_addr);
  return address;
}

/// One direction of a connection.
struct pipe_state {
  int from = -1;
  int to = -1;
  std::string waiting;
  bool ended = false;

  /// False when the connection is over.
  bool move() {
    char buffer[16384];
    while (!ended && waiting.size() < most_waiting) {
      const auto got = ::recv(from, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got > 0)
        waiting.append(buffer, static_cast<std::size_t>(got));
      else if (got == 0)
        ended = true;
      else if (errno == EAGAIN || errno == EWOULDBLOCK)
        break;
      else
        return false;
    }
    while (!waiting.empty()) {
      const auto sent = ::send(to, waiting.data(), waiting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0)
        waiting.erase(0, static_cast<std::size_t>(sent));
      else if (errno == EAGAIN || errno == EWOULDBLOCK)
        break;
      else
        return false;
    }
    return !(ended && waiting.empty());
  }
};

struct connection {
  pipe_state there;
  pipe_state back;
};

void set_fast(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

} // namespace

cut_wire::cut_wire(std::string target) : target_(std::move(target)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0
      || ::getsockname(listener_, generic, &size) != 0)
    throw std::runtime_error("no free port on the loopback interface");
  endpoint_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  thread_ = std::thread([this] { run(); });
}

cut_wire::~cut_wire() {
  ended_ = true;
  thread_.join();
  ::close(listener_);
}

void cut_wire::run() {
  std::list<connection> open;
  const auto close_it = [](const connection& one) {
    ::close(one.there.from);
    ::close(one.there.to);
  };
  while (!ended_) {
    if (cut_) {
      ::usleep(2000);
      continue;
    }
    std::vector<pollfd> waited{{listener_, POLLIN, 0}};
    for (const auto& one : open)
      for (const auto* way : {&one.there, &one.back}) {
        if (!way->ended && way->waiting.size() < most_waiting)
          waited.push_back({way->from, POLLIN, 0});
        if (!way->waiting.empty())
          waited.push_back({way->to, POLLOUT, 0});
      }
    ::poll(waited.data(), waited.size(), 20);
    if (cut_)
      continue;
    if ((waited.front().revents & POLLIN) != 0) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const auto address = address_of(target_);
      if (client >= 0
          && ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        set_fast(client);
        set_fast(server);
        open.push_back({{client, server, {}, false}, {server, client, {}, false}});
      } else {
        ::close(client);
        ::close(server);
      }
    }
    for (auto one = open.begin(); one != open.end();) {
      const bool there = one->there.move();
      const bool back = one->back.move();
      if (there && back) {
        ++one;
        continue;
      }
      close_it(*one);
      one = open.erase(one);
    }
  }
  for (const auto& one : open)
    close_it(one);
}

} // namespace reprieve::replicas
