#include "tests/replicas/private_network.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace reprieve::replicas {

namespace {

constexpr const char* bridge = "peers";

std::string find_ip() {
  for (const auto* path : {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"})
    if (::access(path, X_OK) == 0)
      return path;
  return {};
}

const char* name_of(private_network::link way) {
  switch (way) {
  case private_network::link::etcd:
    return "etcd";
  case private_network::link::peers:
    return "peers";
  case private_network::link::clients:
    break;
  }
  return "clients";
}

std::string network_of(int cell, private_network::link way) {
  // All cells are in one network to each other.
  return way == private_network::link::peers
           ? "10.77.250"
           : fmt::format("10.77.{}",
                         2 * cell + static_cast<int>(way == private_network::link::etcd));
}

} // namespace

std::string private_network::enter() {
  static const std::string why = [] {
    if (find_ip().empty())
      return std::string("there is no program `ip` (Debian's package iproute2) to make links with");
    if (::unshare(CLONE_NEWNET) != 0)
      return fmt::format("this user may not make a network namespace: {}", std::strerror(errno));
    for (const auto& words :
         std::vector<std::vector<std::string>>{{find_ip(), "link", "set", "lo", "up"},
                                               {find_ip(), "link", "add", bridge, "type", "bridge"},
                                               {find_ip(), "link", "set", bridge, "up"}})
      if (const auto done = run_program(words); done.code != 0)
        return fmt::format("a network namespace can't be set up: {}", done.output);
    return std::string{};
  }();
  return why;
}

private_network::private_network(int cells) {
  static int networks = 0;
  number_ = networks++;
  for (int cell = 0; cell < cells; ++cell) {
    cells_.push_back(std::make_unique<child_process>(
      std::vector<std::string>{"/usr/bin/unshare", "--net", "--", "/usr/bin/sleep", "infinity"},
      (directory_.path() / "cells.log").string()));
    // It is in its own namespace as soon as that is not this one any more.
    const auto its = fmt::format("/proc/{}/ns/net", cells_.back()->id());
    for (int i = 0; i < 500; ++i) {
      std::error_code gone;
      if (std::filesystem::read_symlink(its, gone)
            != std::filesystem::read_symlink("/proc/thread-self/ns/net")
          && !gone)
        break;
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    ip_inside(cell, {"link", "set", "lo", "up"});
    for (const auto way : {link::etcd, link::peers, link::clients})
      join(cell, way);
  }
}

private_network::~private_network() {
  for (std::size_t cell = 0; cell < cells_.size(); ++cell)
    for (const auto way : {link::etcd, link::peers, link::clients})
      run_program({find_ip(), "link", "delete", name_here(static_cast<int>(cell), way)});
}

std::string private_network::here(int cell, link way) {
  return network_of(cell, way) + ".1";
}

std::string private_network::there(int cell, link way) {
  return fmt::format("{}.{}", network_of(cell, way), cell + 2);
}

std::vector<std::string> private_network::inside(int cell, std::vector<std::string> command) const {
  std::vector<std::string> whole{
    "/usr/bin/nsenter",
    fmt::format("--net=/proc/{}/ns/net", cells_[static_cast<std::size_t>(cell)]->id()), "--"};
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

void private_network::set_up(int cell, link way, bool up) {
  ip({"link", "set", name_here(cell, way), up ? "up" : "down"});
}

void private_network::ip(std::vector<std::string> words) const {
  words.insert(words.begin(), find_ip());
  if (const auto done = run_program(words); done.code != 0)
    throw std::runtime_error(
      fmt::format("ip {} {} {}: {}", words[1], words[2], words.back(), done.output));
}

void private_network::ip_inside(int cell, const std::vector<std::string>& words) const {
  std::vector<std::string> whole{find_ip()};
  whole.insert(whole.end(), words.begin(), words.end());
  if (const auto done = run_program(inside(cell, whole)); done.code != 0)
    throw std::runtime_error(fmt::format("ip {} in a cell: {}", words.back(), done.output));
}

void private_network::join(int cell, link way) const {
  const auto near = name_here(cell, way);
  const std::string far = name_of(way);
  ip({"link", "add", near, "type", "veth", "peer", "name", far, "netns",
      std::to_string(cells_[static_cast<std::size_t>(cell)]->id())});
  if (way == link::peers)
    ip({"link", "set", near, "master", bridge});
  else
    ip({"address", "add", here(cell, way) + "/24", "dev", near});
  ip({"link", "set", near, "up"});
  ip_inside(cell, {"address", "add", there(cell, way) + "/24", "dev", far});
  ip_inside(cell, {"link", "set", far, "up"});
}

std::string private_network::name_here(int cell, link way) const {
  return fmt::format("{}{}-{}", name_of(way), number_, cell);
}

} // namespace reprieve::replicas
