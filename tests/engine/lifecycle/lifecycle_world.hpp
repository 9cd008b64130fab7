#pragma once

#include "preemption/policies/lifecycle/lifecycle.hpp"
#include "tests/support/cluster_builder.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Clusters whose own scheduler places the pods, and short ways to say what the lifecycle phase is
/// expected to do there.
namespace reprieve::tests {

// -- traits that only this policy reads ----------------------------------------------------------

struct in_cluster {
  std::string name;

  void operator()(node& n) const {
    n.resource_group = name;
  }
};

struct created {
  std::int64_t seconds;

  void operator()(pod& p) const {
    p.created = at(seconds);
  }
};

/// The pod's name, where it is not its uid.
struct called {
  std::string name;

  void operator()(pod& p) const {
    p.name = name;
  }
};

/// Terminates since then, with this much grace.
struct terminating {
  std::int64_t since;
  std::int64_t grace;

  void operator()(pod& p) const {
    p.phase = pod_phase::terminating;
    p.stop_told = at(since);
    p.grace_period = std::chrono::seconds{grace};
  }
};

inline constexpr auto force_deleting = [](pod& p) { p.phase = pod_phase::force_deleting; };
inline constexpr auto surplus = [](pod& p) { p.phase = pod_phase::surplus; };

// -- deployments that lack replicas --------------------------------------------------------------

/// May run in the cluster `default`.
template <class... Traits>
lifecycle_deployment wanting(const std::string& name, std::int32_t priority, std::int32_t lacking,
                             const Traits&... traits) {
  lifecycle_deployment made;
  made.name = name;
  made.priority = priority;
  made.lacking = lacking;
  made.scores = {{"default", 0}};
  pod one;
  describe(one, traits...);
  made.pods.requests = one.requests;
  return made;
}

/// A node `spare` for second replicas: they count there, but nothing new may run.
cluster with_spare();
/// Besides, nodes `n1` and `n2` of one GPU.
cluster two_nodes();

// -- the world -----------------------------------------------------------------------------------

struct lifecycle_world {
  /// Every workload is a deployment that committed all its pods but those that leave or are
  /// surplus. It is an hour after `epoch`.
  explicit lifecycle_world(const cluster& in, std::vector<lifecycle_deployment> preemptors = {});

  std::vector<node> nodes;
  std::vector<pod> pods;
  lifecycle_input given;

  cluster_view view() const;
  lifecycle_plan plan() const;

  pod& pod_of(std::string_view uid);
  placement& share(std::string_view deployment, std::string_view cluster = "default");
  lifecycle_deployment& deployment(std::string_view name);
  guards& limits(const std::string& cluster = "default");

  /// Sets committed counts, begins force-deletes, and hands the memory on; nothing happens to other
  /// pods.
  void act_on(const lifecycle_plan& plan);
  /// Pods that are not leaving, as the placements count them.
  void count_assigned();
};

/// Uids of all victims.
std::set<std::string> victims_of(const lifecycle_plan& plan);
std::map<std::string, victim_stage> stages_of(const lifecycle_plan& plan);
/// `deployment@node` for every match.
std::multiset<std::string> matches_of(const lifecycle_plan& plan);
/// By how many replicas each deployment is scaled down in all.
std::map<std::string, std::int32_t> scaled_down_by(const lifecycle_plan& plan);
std::set<std::string> awaited_in(const lifecycle_plan& plan);
/// Why the pod stays; empty where nobody looked at it.
std::string why_stays(const lifecycle_plan& plan, std::string_view uid);
/// Why the deployment found nothing; empty where it did.
std::string why_nothing(const lifecycle_plan& plan, std::string_view deployment);

} // namespace reprieve::tests
