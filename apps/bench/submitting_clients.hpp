#pragma once

#include "apps/bench/other_process.hpp"
#include "state/model/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace reprieve {

struct submit_order {
  char address[64] = {};
  std::size_t clients = 64; ///< each with one call at a time
  std::size_t milliseconds = 1000;
};

struct submit_account {
  std::uint64_t accepted = 0; ///< that were answered: durable
  std::uint64_t failed = 0;
  double seconds = 0;
};

/// A process that submits workloads, one with each call.
class submitting_clients {
public:
  /// Must be made before anything in this process starts a thread.
  submitting_clients();

  /// Submits for so long and waits for the end; nothing where the process ended.
  std::optional<submit_account> submit(const std::string& address, std::size_t clients,
                                       std::size_t milliseconds);

  /// A workload as manifests usually describe one, of one pod and without any priority: in a full
  /// cluster it waits.
  static workload usual(std::size_t client, std::size_t number);

private:
  other_process<submit_order, submit_account> process_;
};

} // namespace reprieve
