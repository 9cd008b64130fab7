#include "testbed/processes/free_endpoint.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>

namespace reprieve {

namespace {

// The kernel gives its ports from 32768 on to whoever connects, also between our look and the
// start of the server: so these are below.
constexpr std::uint16_t first_port = 16384;
constexpr std::uint16_t last_port = 32767;

/// A name without a file, which goes with this process: nobody else of ours takes the port.
bool claim(std::uint16_t port) {
  const auto name = "reprieve-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size()); // the zero before it makes it abstract
  const auto size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  const int holder = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(holder, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)) == 0)
    return true; // open until the process ends
  ::close(holder);
  return false;
}

bool nobody_listens(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(port);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool free = ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(listener);
  return free;
}

} // namespace

std::string free_endpoint() {
  std::random_device source;
  std::uniform_int_distribution<std::uint16_t> ports(first_port, last_port);
  for (int i = 0; i < 1000; ++i)
    if (const auto port = ports(source); nobody_listens(port) && claim(port))
      return "127.0.0.1:" + std::to_string(port);
  throw std::runtime_error("no free port on the loopback interface");
}

} // namespace reprieve
