#pragma once

#include "testbed/processes/free_endpoint.hpp"
#include "tests/integration/live/live_cluster.hpp"
#include "tests/support/certificate_maker.hpp"
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

/// Two replicas on one etcd with simulated machines, as real programs that show each other
/// certificates.
class replica_pair {
public:
  static constexpr std::size_t size = 2;

  /// Whether the replicas show certificates.
  enum class protection { certificates, secrets };

  explicit replica_pair(protection how = protection::certificates) : how_(how) {
    machines_address_ = free_endpoint();
    std::vector<std::string> machines{
      REPRIEVE_BINARIES "/reprieve",      "machines", "--listen", machines_address_, "--journal",
      (data_.path() / "journal").string()};
    if (how_ == protection::certificates)
      for (auto& option : certificates_.shown_as("machines", "--"))
        machines.push_back(std::move(option));
    machines_.emplace(std::move(machines), (data_.path() / "machines").string());
    for (std::size_t i = 0; i < size; ++i) {
      peers_[i] = free_endpoint();
      start(i);
    }
  }

  /// The test fails where it does not come up.
  void start(std::size_t which) {
    auto& one = replicas_[which];
    one = another(fmt::format("r{}", which), peers_[which], "peer");
    EXPECT_TRUE(one->serves()) << one->output();
    EXPECT_TRUE(within(std::chrono::seconds{30},
                       [&] {
                         return one->cli({"get", "queues"}).code == 0;
                       }))
      << one->output();
  }

  /// One more that shows the others this certificate.
  std::unique_ptr<daemon_process> another(const std::string& name, const std::string& peer,
                                          const std::string& certificate) {
    std::vector<std::string> options{
      "--replica",       name,      "--etcd", etcd_.endpoint(), "--machines",
      machines_address_, "--lease", "2000",   "--peer-listen",  peer};
    if (how_ == protection::certificates)
      for (auto& option : certificates_.shown_as(certificate))
        options.push_back(std::move(option));
    return std::make_unique<daemon_process>(data_.path() / name, std::move(options));
  }

  const certificate_maker& certificates() const {
    return certificates_;
  }
  /// Where the replicas and the machines listen for each other.
  std::vector<std::string> inner_addresses() const {
    return {peers_[0], peers_[1], machines_address_};
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
  protection how_;
  temporary_directory data_;
  certificate_maker certificates_;
  int files_ = 0;
  etcd_process etcd_;
  std::string machines_address_;
  std::optional<child_process> machines_;
  std::array<std::string, size> peers_;
  std::array<std::unique_ptr<daemon_process>, size> replicas_;
};

} // namespace reprieve
