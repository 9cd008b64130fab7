#pragma once

#include "tests/integration/daemon.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// How many pods, by workload.
using pod_counts = std::map<std::string, int>;

/// What `reprieve decide` says of a snapshot.
struct offline_decision {
  int code = -1;
  std::string output;
  pod_counts victims;           ///< pods that go
  std::set<std::string> placed; ///< workloads that get places at once
};

/// A real daemon with simulated machines, spoken to through the command line; what happened is read
/// from the machines' own journal.
class live_cluster {
public:
  explicit live_cluster(std::vector<std::string> more = {});

  /// Whether it came up.
  bool serves() {
    return daemon_->serves();
  }
  const daemon_process& daemon() const {
    return *daemon_;
  }
  /// Kills it, as `kill -9` does, and starts it again where it was; the test fails where it does
  /// not come up.
  void restart();
  /// Likewise, where its machines have lost their memory meanwhile.
  void restart_without_memory();

  /// Applies manifests; the test fails where they are refused.
  void apply(const std::string& manifests);

  /// Deletes an object; the test fails where that is refused.
  void remove(const std::string& kind, const std::string& name);

  /// Applies them and waits until all pods that they ask for run, so that the next ones start
  /// later.
  void run(const std::string& manifests, const std::string& workload, int pods = 1);

  /// Waits until so many of its pods run; the test fails where that does not come.
  void wait_for(const std::string& workload, int pods = 1);

  /// Waits until nothing has changed for `quiet`; false when that does not come within `most`.
  bool rests(std::chrono::milliseconds quiet = std::chrono::seconds{2},
             std::chrono::seconds most = std::chrono::seconds{25});

  /// Pods that run, of workloads that have any.
  pod_counts running() const;

  /// From here on `evicted` counts.
  void mark();

  /// Pods that a decision stopped since the mark, each time counted.
  pod_counts evicted() const;

  /// Pods that were started since the mark, each time counted.
  pod_counts started() const;

  /// Objects of the kind with their status.
  std::vector<nlohmann::json> get(const std::string& kind) const;

  /// A quantity from the status of a queue, such as `deserved` of `gpu`; empty where there is none.
  std::string queue_amount(const std::string& queue, const std::string& what,
                           const std::string& resource) const;

  std::string explain(const std::string& workload) const;

  /// Decisions with victims in favour of the workload, whatever became of them.
  int preemptions_by(const std::string& workload) const;

  /// How often people were told this, such as `Aborted`, of the workload or of all.
  int told(const std::string& type, const std::string& workload = {}) const;

  /// What `reprieve decide --all` says of everything that is here now, with these manifests in
  /// place of what has their kinds and names.
  offline_decision decide_with(const std::string& manifests) const;

private:
  void start_again();
  std::string file_of(const std::string& manifests) const;
  pod_counts counted(std::string_view stage) const;

  temporary_directory data_;
  std::vector<std::string> options_;
  std::unique_ptr<daemon_process> daemon_;
  std::size_t mark_ = 0; ///< bytes of the journal
};

/// What `reprieve decide --all` says of the manifests.
offline_decision decide_all(const std::string& manifests);

/// The pods in all.
int sum(const pod_counts& counts);

// -- manifests ------------------------------------------------------------------------------------

/// `count` nodes `n0`, `n1`, … of that capacity, such as `gpu: 8`.
std::string nodes(int count, const std::string& capacity);

/// `spec` is what stands between its braces.
std::string queue_of(const std::string& name, const std::string& spec);

/// Pods of one template, by themselves or as a gang that goes whole. Unless told otherwise they
/// come back a second after they were preempted.
struct work_shape {
  std::string queue = "default";
  int priority = 0;
  int pods = 1;
  bool gang = false;
  std::string requests = "gpu: 1";
  std::string annotations{};
  std::string more{}; ///< of the spec, such as `resourceGroup: lab`
  bool comes_back = true;
};
std::string work_of(const std::string& name, const work_shape& shape);

} // namespace reprieve
