#include "testbed/processes/etcd_members.hpp"

#include "testbed/processes/free_endpoint.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace reprieve {

etcd_members::etcd_members(std::size_t count, std::vector<std::string> arguments, reach clients)
    : arguments_(std::move(arguments)), clients_(clients), members_(count) {
#if defined(__aarch64__)
  ::setenv("ETCD_UNSUPPORTED_ARCH", "arm64", 1);
#endif
  for (std::size_t i = 0; i < count; ++i) {
    endpoints_.push_back(free_endpoint());
    peers_.push_back(free_endpoint());
  }
  for (std::size_t i = 0; i < count; ++i)
    start(i);
}

void etcd_members::start(std::size_t which) {
  std::string all;
  for (std::size_t i = 0; i < peers_.size(); ++i)
    all += fmt::format("{}m{}=http://{}", i == 0 ? "" : ",", i, peers_[i]);
  const auto clients = "http://" + endpoints_[which];
  const auto port = endpoints_[which].substr(endpoints_[which].rfind(':'));
  const auto listen = clients_ == reach::loopback ? clients : "http://0.0.0.0" + port;
  const auto peers = "http://" + peers_[which];
  const auto file = [&](std::string_view name) {
    return (directory_.path() / fmt::format("{}-{}", name, which)).string();
  };
  std::vector<std::string> command{"/usr/bin/env",
                                   "etcd",
                                   fmt::format("--name=m{}", which),
                                   "--data-dir=" + file("data"),
                                   "--listen-client-urls=" + listen,
                                   "--advertise-client-urls=" + clients,
                                   "--listen-peer-urls=" + peers,
                                   "--initial-advertise-peer-urls=" + peers,
                                   "--initial-cluster=" + all,
                                   "--initial-cluster-state=new",
                                   "--logger=zap",
                                   "--log-level=error"};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  members_[which] = std::make_unique<child_process>(std::move(command), file("log"));
}

} // namespace reprieve
