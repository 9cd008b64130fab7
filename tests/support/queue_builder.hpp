#pragma once

#include "preemption/policies/queues/queue_stage.hpp"
#include "tests/support/cluster_builder.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A small language for queues, beside the one for clusters:
///
///   queues(cpu(9)).queue("a", weight{2}).allocated("a", cpu(3)).running("a", "pod-1", cpu(2))
namespace reprieve::tests {

// -- traits of queues -----------------------------------------------------------------------------

struct weight {
  std::int64_t value;

  void operator()(queue& q) const {
    q.weight = value;
  }
};

struct below {
  std::string parent;

  void operator()(queue& q) const {
    q.parent = parent;
  }
};

struct guaranteed {
  amount least;

  void operator()(queue& q) const {
    q.guaranteed[least.resource] = least.value;
  }
};

struct limited {
  amount most;

  void operator()(queue& q) const {
    q.limit[most.resource] = most.value;
  }
};

struct capped_by_demand {
  void operator()(queue& q) const {
    q.cap_by_demand = true;
  }
};

/// A pod that has a node and has not started there.
struct not_started {
  void operator()(pod& p) const {
    p.phase = pod_phase::bound;
    p.started = no_time;
  }
};

// -- queues with their pods -----------------------------------------------------------------------

template <class... Amounts>
resources amounts_of(const Amounts&... given) {
  resources all;
  ((all[given.resource] = given.value), ...);
  return all;
}

class queues {
public:
  template <class... Amounts>
  explicit queues(const Amounts&... capacity) {
    in_.capacity = amounts_of(capacity...);
    in_.now = at(3600);
  }

  template <class... Traits>
  queues& queue(const std::string& name, const Traits&... traits) {
    auto& made = in_.queues[name];
    made.name = name;
    (describe(made, traits), ...);
    return *this;
  }

  /// As the last run left it.
  template <class... Amounts>
  queues& allocated(const std::string& name, const Amounts&... given) {
    in_.previous[name].allocated = amounts_of(given...);
    return *this;
  }
  template <class... Amounts>
  queues& preempting(const std::string& name, const Amounts&... given) {
    in_.previous[name].preempting = amounts_of(given...);
    return *this;
  }
  template <class... Amounts>
  queues& pending(const std::string& name, const Amounts&... given) {
    in_.pending[name] = amounts_of(given...);
    return *this;
  }

  /// A workload of one pod.
  template <class... Traits>
  queues& running(const std::string& queue, const std::string& workload, const Traits&... traits) {
    return pods(queue, workload, 1, traits...);
  }
  /// A workload of pods that go together.
  template <class... Traits>
  queues& group(const std::string& queue, const std::string& workload, std::int32_t pods,
                const Traits&... traits) {
    return add(queue, cluster().group(workload, some_nodes(pods), traits...).all_pods());
  }
  /// A workload of pods that go one by one.
  template <class... Traits>
  queues& pods(const std::string& queue, const std::string& workload, std::int32_t count,
               const Traits&... traits) {
    return add(queue, cluster().pods(workload, some_nodes(count), traits...).all_pods());
  }

  /// Guards that hold for all pods.
  queues& minimum_runtime(duration least) {
    in_.limits["default"].minimum_runtime = least;
    return *this;
  }
  queues& opt_out_is_veto() {
    in_.limits["default"].opt_out_is_veto = true;
    return *this;
  }
  queues& victims_per_decision(std::int32_t most) {
    in_.limits["default"].victims_per_decision = most;
    return *this;
  }
  queues& preemptions_per_workload_per_hour(std::int32_t most) {
    in_.limits["default"].preemptions_per_workload_per_hour = most;
    return *this;
  }
  queues& recent_preemptions(const std::string& workload, std::int32_t times) {
    in_.recent_preemptions[workload] = times;
    return *this;
  }

  const queue_stage_input& input() const {
    return in_;
  }
  queue_stage_result run() const {
    return run_queue_stage(in_);
  }

private:
  queues& add(const std::string& queue, const std::vector<pod>& pods);
  static std::vector<std::string> some_nodes(std::int32_t count);

  queue_stage_input in_;
};

// -- what comes after a run -----------------------------------------------------------------------

/// The same with the result's statuses as the previous ones, and its victims leaving.
queue_stage_input with_victims_leaving(queue_stage_input in, const queue_stage_result& result);
/// The same once they are gone.
queue_stage_input with_victims_gone(queue_stage_input in, const queue_stage_result& result);

// -- short ways to read a result ------------------------------------------------------------------

const queue_outcome& outcome_of(const queue_stage_result& result, std::string_view queue);
const queue_line& line_of(const queue_stage_result& result, std::string_view queue,
                          std::string_view resource);
/// The workloads that lose portions in the queue, in the order in which they go.
std::vector<std::string> victims_in(const queue_stage_result& result, std::string_view queue);
/// Over all queues.
std::vector<std::string> all_victims(const queue_stage_result& result);

// What a queue has of CPU, which most tests are about.

std::int64_t allocated(const queue_stage_result& result, std::string_view queue);
std::int64_t preempting(const queue_stage_result& result, std::string_view queue);
queue_case case_of(const queue_stage_result& result, std::string_view queue);

/// `a` holds all 9 CPUs, and deserves 3 of them; `b` and `c` deserve 3 each.
queues one_against_two();

} // namespace reprieve::tests
