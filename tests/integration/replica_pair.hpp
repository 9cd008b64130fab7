#pragma once

#include "apps/bench/free_endpoint.hpp"
#include "tests/integration/live_cluster.hpp"
#include "tests/support/etcd_process.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reprieve {

/// Two replicas on one etcd with simulated machines, as real programs.
class replica_pair {
public:
  static constexpr std::size_t size = 2;

  replica_pair() {
    machines_address_ = free_endpoint();
    machines_.emplace(std::vector<std::string>{REPRIEVE_BINARIES "/reprieve", "machines",
                                               "--listen", machines_address_, "--journal",
                                               (data_.path() / "journal").string()},
                      (data_.path() / "machines").string());
    for (std::size_t i = 0; i < size; ++i) {
      peers_[i] = free_endpoint();
      start(i);
    }
  }

  /// The test fails where it does not come up.
  void start(std::size_t which) {
    auto& one = replicas_[which];
    one = std::make_unique<daemon_process>(
      data_.path() / fmt::format("r{}", which),
      std::vector<std::string>{"--replica", fmt::format("r{}", which), "--etcd", etcd_.endpoint(),
                               "--machines", machines_address_, "--peer-listen", peers_[which],
                               "--lease", "2000"});
    EXPECT_TRUE(one->serves()) << one->output();
    EXPECT_TRUE(within(std::chrono::seconds{30},
                       [&] {
                         return one->cli({"get", "queues"}).code == 0;
                       }))
      << one->output();
  }

  daemon_process& operator[](std::size_t which) {
    return *replicas_[which];
  }
  etcd_process& etcd() {
    return etcd_;
  }

  std::string stored_in_file(const std::string& manifests) {
    auto path = (data_.path() / fmt::format("{}.yaml", ++files_)).string();
    std::ofstream(path) << manifests;
    return path;
  }

  run_result apply(const std::string& manifests, std::size_t through = 0) {
    return replicas_[through]->cli({"apply", "-f", stored_in_file(manifests)});
  }

private:
  temporary_directory data_;
  int files_ = 0;
  etcd_process etcd_;
  std::string machines_address_;
  std::optional<child_process> machines_;
  std::array<std::string, size> peers_;
  std::array<std::unique_ptr<daemon_process>, size> replicas_;
};

} // namespace reprieve
