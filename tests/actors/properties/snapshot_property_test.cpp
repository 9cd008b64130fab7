#include "preemption/evaluation/evaluation_hints.hpp"
#include "tests/actors/properties/cluster_records.hpp"
#include "tests/actors/properties/same_state.hpp"
#include "tests/simulation/dice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

/// A snapshot of the live state, written as manifests and read again, is the same state: the engine
/// decides on it as the coordinator does.
namespace reprieve::tests {

namespace {

using std::chrono::seconds;

int clusters() {
  return std::getenv("REPRIEVE_LONG") != nullptr ? 5'000 : 200;
}

/// How often something came about, so that a test that has come to test nothing shows.
struct tally {
  int decisions = 0;
  int untold = 0;
  int told = 0;
  int gone = 0;
  int starting = 0;
  int stuck = 0;
  int waiting = 0;
};

/// A mirror in the middle of things: decisions that were made by the engine and have come to
/// different points of their way.
class live_group {
public:
  live_group(std::uint64_t seed, tally& sum) : luck_(seed), sum_(sum), of_(draw_records(seed)) {
    settings_.group = of_.settings;
    settings_.now = around_now;
    for (const auto& one : of_.nodes)
      mirror_.put(nodes_[one.spec->name] = std::make_shared<const node_record>(one));
    for (const auto& one : of_.workloads)
      mirror_.put(workloads_[one.spec->name] = std::make_shared<const workload_record>(one));
    for (const auto& one : of_.budgets)
      mirror_.put(one);
  }

  void decide_some() {
    for (auto left = luck_.between(1, 5); left > 0; --left) {
      const auto waiting = mirror_.line().in_order();
      if (waiting.empty())
        return;
      const auto who = waiting[luck_.below(waiting.size())].who;
      auto [made, gives_up] = decide_over_holds(mirror_.changeable_view(), *who, settings_,
                                                mirror_.holds_below(who->priority));
      for (const auto& one : gives_up) {
        mirror_.spare_victims(one.decision);
        if (luck_.one_in(2))
          close(one.decision);
      }
      if (gives_up.empty() && !made.assignments.empty())
        open(*who, std::move(made));
    }
  }

  void let_time_pass() {
    if (luck_.one_in(3))
      mirror_.look_for_stuck(around_now, seconds{30});
  }

  cluster_snapshot read() {
    cluster_snapshot whole;
    whole.cluster = "drawn";
    auto known = initial_catalog();
    put_in(known, of_.settings);
    whole.known = std::make_shared<const catalog>(known);
    auto& group = whole.groups.emplace_back(mirror_.read_all());
    group.name = "default";
    group.taken = around_now;
    if (luck_.one_in(2))
      group.status.grants = {{"default", {{"gpu", 1000 * luck_.between(0, 20)}}}};
    for (auto& one : group.status.decisions)
      if (starting_.contains(one.id))
        one.phase = decision_phase::starting;
    for (const auto& unit : mirror_.line().in_order())
      group.status.reservations.push_back(
        {unit.who->groups.front().pods.front().uid, "n", around_now - seconds{5}});
    return whole;
  }

  group_mirror& mirror() {
    return mirror_;
  }
  const plan_settings& settings() const {
    return settings_;
  }

private:
  void open(const preemptor& who, plan made) {
    ++sum_.decisions;
    const auto id = fmt::format("d{}", ++last_);
    for (auto& one : made.assignments)
      one.placed.placed_by = id;
    const auto placed = shared_pods(made.assignments);
    const auto parts = parts_of(placed, made.victims);
    if (luck_.one_in(4)) // as one that is still being put together
      for (const auto& p : placed)
        mirror_.promise(id, p);
    if (luck_.one_in(6) && made.victims.empty())
      return;
    mirror_.open({id, {who.workload}, placed, made.victims}, parts);
    open_.insert(id);
    come_further(id, parts, made.victims);
  }

  /// Shards apply their parts, each or not; victims are told, and some go.
  void come_further(const std::string& id, std::span<const node_part> parts,
                    const std::vector<victim>& victims) {
    if (luck_.one_in(3)) {
      ++sum_.untold;
      return;
    }
    for (const auto& one : victims)
      if (luck_.one_in(2))
        change(workloads_[one.portion.workload], [&](workload_record& record) {
          evict(record, std::span{&one.portion, 1}, id, around_now);
        });
    const bool told = luck_.one_in(2);
    for (const auto& part : parts) {
      if (luck_.one_in(4))
        continue;
      change(nodes_[part.node], [&](node_record& record) {
        apply(record, part, id);
        if (!told || part.victims.empty())
          return;
        tell_victims(record, id, around_now - seconds{luck_.one_in(4) ? 3000 : 1});
        ++sum_.told;
        for (const auto& uid : part.victims)
          if (luck_.one_in(3) && erase_pod(record, uid))
            ++sum_.gone;
      });
    }
    if (luck_.one_in(4)) {
      ++sum_.starting;
      mirror_.starts(id);
      starting_.insert(id);
    } else if (luck_.one_in(6)) {
      close(id);
    }
  }

  void close(const std::string& id) {
    mirror_.close(id);
    open_.erase(id);
  }

  template <class Record, class F>
  void change(std::shared_ptr<const Record>& what, F how) {
    auto next = *what;
    how(next);
    what = std::make_shared<const Record>(std::move(next));
    mirror_.put(what);
  }

  simulation::dice luck_;
  tally& sum_;
  cluster_records of_;
  plan_settings settings_;
  group_mirror mirror_;
  std::map<std::string, std::shared_ptr<const node_record>> nodes_;
  std::map<std::string, std::shared_ptr<const workload_record>> workloads_;
  std::set<std::string> open_;
  std::set<std::string> starting_;
  int last_ = 0;
};

TEST(snapshot_property, manifests_of_the_live_state_read_back_to_the_same_state) {
  tally sum;
  for (int seed = 1; seed <= clusters(); ++seed) {
    live_group group(static_cast<std::uint64_t>(seed), sum);
    group.decide_some();
    group.let_time_pass();
    const auto whole = group.read();
    const auto& written = whole.groups.front();

    const auto read = written_and_read(whole);

    ASSERT_TRUE(read.ok()) << "seed " << seed << ": " << read.status();
    EXPECT_EQ(read->status_of("default"), written.status) << "seed " << seed;
    std::vector<pod> pods;
    for (const auto& one : written.nodes)
      pods.insert(pods.end(), one->pods.begin(), one->pods.end());
    ASSERT_EQ(read->pods().size(), pods.size()) << "seed " << seed;
    for (std::size_t i = 0; i < pods.size(); ++i) {
      EXPECT_EQ(read->pods()[i], pods[i]) << "seed " << seed << ", pod " << pods[i].uid;
      sum.stuck += pods[i].phase == pod_phase::surplus ? 1 : 0;
    }
    ASSERT_EQ(difference(*read, group.mirror(), group.settings()), "") << "seed " << seed;
    sum.waiting += static_cast<int>(read->pending("default").size());
  }
  EXPECT_GT(sum.decisions, clusters() / 2);
  EXPECT_GT(sum.untold, clusters() / 10);
  EXPECT_GT(sum.told, clusters() / 10);
  EXPECT_GT(sum.gone, clusters() / 20);
  EXPECT_GT(sum.starting, clusters() / 20);
  EXPECT_GT(sum.stuck, 0);
  EXPECT_GT(sum.waiting, clusters() / 2);
}

} // namespace

} // namespace reprieve::tests
