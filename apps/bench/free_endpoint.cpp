#include "apps/bench/free_endpoint.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace reprieve {

std::string free_endpoint() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, generic, size) != 0 || ::getsockname(listener, generic, &size) != 0)
    throw std::runtime_error("no free port on the loopback interface");
  ::close(listener);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

} // namespace reprieve
