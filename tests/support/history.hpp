#pragma once

#include "state/model/requests.hpp"
#include "state/quantities/time.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace reprieve {

/// How many pods a workload asks for, by group.
using group_counts = std::map<std::string, std::int32_t>;

/// To submit and to scale are one call of the API, Apply, which creates what is not there and
/// changes what is: they have two names for people only.
enum class workload_call { submit, scale, remove, get };

enum class call_end {
  ok,
  not_found,     ///< there is no such workload
  being_deleted, ///< it goes, and can be applied again when it has gone
  refused,       ///< certainly nothing was done, for a reason that tells nothing of the workload
  unknown        ///< nobody knows: it may be carried out at any time from its start on, or never
};

/// What a `get` shows of a workload.
struct workload_sight {
  std::string uid; ///< empty where it is not to be looked at
  std::int64_t generation = 0;
  group_counts counts;

  bool operator==(const workload_sight&) const = default;
};

/// One call of one client about one workload. The manifests of a workload differ in their counts
/// only. A `get` whose answer says that it is of some age begins by so much earlier.
struct recorded_call {
  int client = 0;
  std::string workload;
  workload_call what = workload_call::get;
  group_counts counts{}; ///< that it is to have; of submit and scale
  duration invoked{0};   ///< since the recording began
  duration returned{0};  ///< likewise; does not count where the end is unknown
  call_end how = call_end::unknown;
  std::optional<apply_outcome> outcome{}; ///< of submit and scale; nothing: not to be looked at
  workload_sight seen{};                  ///< of a get
};

/// Takes down the calls of several clients as they make them.
class history_recorder {
public:
  /// A call begins; returns the number to end it by. One that is never ended is of unknown end.
  std::size_t begin(int client, std::string workload, workload_call what, group_counts counts = {});

  void end(std::size_t call, call_end how, std::optional<apply_outcome> outcome = {});
  /// Ends a `get` that found something.
  void end(std::size_t call, workload_sight seen);

  std::vector<recorded_call> calls() const;

private:
  recorded_call& ended(std::size_t call, call_end how);

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::vector<recorded_call> calls_;
};

/// Answers that no order of the calls explains.
struct anomaly {
  std::string workload;
  /// The shortest beginning of the workload's history that can't be explained: the calls that have
  /// begun before the first answer that does not fit, in the order they began, without the answers
  /// that came later.
  std::vector<recorded_call> calls;
  std::size_t culprit = 0; ///< of these, the one with that answer
  std::string account;     ///< all of that for people
};

struct history_verdict {
  std::vector<anomaly> anomalies;     ///< at most one of each workload
  std::vector<std::string> undecided; ///< workloads with too many possibilities to look at them all

  bool explained() const {
    return anomalies.empty() && undecided.empty();
  }
};

struct history_limits {
  std::size_t effort = 5'000'000; ///< possibilities that are looked at for each workload
  /// Behind the start of a call of unknown end, after which it has no effect any more; nothing: it
  /// may have one at any time. With it there are fewer to be thought of, and one that comes later
  /// is an anomaly.
  std::optional<duration> latest_effect{};
};

/// Whether the calls are linearizable: each of them can be taken for carried out at one instant
/// between its start and its end, such that the answers are those of one workload after the other
/// (see history_model.hpp). Workloads do not depend on each other, and are looked at one by one.
history_verdict check_history(const std::vector<recorded_call>& calls,
                              const history_limits& limits = {});

/// For people, such as `{workers: 2} of generation 3, uid u1`.
std::string to_string(const workload_sight& seen);

/// The call for people, such as `client 3  scale {workers: 2}  configured`.
std::string to_string(const recorded_call& call);

} // namespace reprieve
