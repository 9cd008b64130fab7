#include "preemption/waiting/wait_reason.hpp"
#include "preemption/waiting/waiting_line.hpp"
#include "preemption/waiting/workload_standing.hpp"
#include "state/model/queue_limits.hpp"
#include "tests/simulation/dice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

/// What is kept of a workload as its pods and slots change is what a look at all of them finds.
namespace reprieve {

namespace {

constexpr time_point now{std::chrono::hours{1}};

/// The victims of open decisions, by uid.
class some_ground final : public standing_ground {
public:
  bool goes(std::string_view uid) const override {
    return going.contains(uid);
  }
  void each_going(const std::string&,
                  const std::function<void(const portion_id&)>& use) const override {
    for (const auto& [uid, portion] : going)
      use(portion);
  }
  const node* node_of(const pod&) const override {
    return &home;
  }

  by_name<portion_id> going;
  node home;
};

workload_record plain(std::int32_t count, std::int32_t replicas) {
  workload_record record;
  auto& spec = record.spec.edit();
  spec.name = "w";
  spec.checkpoint.supported = true;
  auto& group = spec.groups.emplace_back();
  group.name = "a";
  group.count = count;
  group.replicas = replicas;
  group.pods.requests = {{"cpu", 1000}};
  record.status.uid = "u";
  record.status.by_group.resize(1);
  return record;
}

workload_record gangs_of(std::int32_t pods, std::int32_t replicas) {
  auto record = plain(pods, replicas);
  record.spec.edit().groups[0].min_count = pods;
  return record;
}

/// All there is to know, each pod and place looked at.
struct from_scratch {
  queue_totals used;
  resources unwanted_for_good;
  std::map<std::string, std::string> unwanted;
  time_point told = no_time;
  resources held_back;
  std::vector<preemptor> lacking;

  from_scratch(const workload_record* record, const std::map<std::string, pod>& pods,
               const some_ground& on) {
    restless_replicas restless;
    for (const auto& [uid, p] : pods) {
      restless.add(record, p);
      look_at(record, p);
    }
    if (record == nullptr)
      return;
    lacking = lacking_units(
      *record, [&](const pod& p) { return pods.contains(p.uid) || on.goes(p.uid); },
      [&](const pod& p) { return pods.contains(p.uid) ? &on.home : nullptr; });
    held_back = restless.take_out_held_back(lacking);
  }

  void look_at(const workload_record* record, const pod& p) {
    if (!takes_room(p.phase))
      return;
    const bool is_unwanted = record == nullptr || !wants(*record, p);
    const bool leaves = is_leaving(p.phase) || !p.evicted_by.empty() || is_unwanted;
    if (record != nullptr)
      add_taken(leaves ? used.leaving : used.staying, p);
    if (leaves)
      told = std::max(told, p.stop_told);
    if (record != nullptr && is_unwanted && !wants_place_of(*record, p))
      add_taken(unwanted_for_good, p);
    if (is_unwanted && p.evicted_by.empty() && p.phase != pod_phase::nominated
        && p.stop_told == no_time)
      unwanted[p.uid] = p.node;
  }
};

/// Every unit that waits, those of runs one by one, in the order in which they are served.
std::vector<preemptor> all_lacking(const workload_standing& of) {
  waiting_line line;
  std::vector<waiting_unit> units;
  for (const auto& unit : of.listed())
    units.push_back({of.record(), unit});
  for (const auto& run : of.runs())
    units.push_back({of.record(), run->unit_at(run->first()), run});
  line.put("w", units);
  std::vector<preemptor> found;
  for (const auto& one : line.in_order())
    found.push_back(*one.who);
  EXPECT_EQ(line.size(), found.size());
  return found;
}

std::vector<preemptor> in_order(const workload_record& record, std::vector<preemptor> units) {
  std::ranges::sort(units, [&](const preemptor& a, const preemptor& b) {
    const auto place = [&](const preemptor& one) {
      return place_of(
        {std::make_shared<const workload_record>(record), std::make_shared<const preemptor>(one)},
        0);
    };
    return place(a) < place(b);
  });
  return units;
}

/// A workload to which all kinds of things happen.
class played_workload {
public:
  explicit played_workload(std::uint64_t seed) : luck_(seed) {
    slot_list::page_size = 1 + luck_.below(6);
    if (luck_.one_in(3))
      kind_ = workload_kind::deployment;
    record_ = fresh_record();
    put_record();
  }
  ~played_workload() {
    slot_list::page_size = page_size_;
  }

  void change_something() {
    switch (luck_.below(12)) {
    case 0:
    case 1:
    case 2:
      place();
      break;
    case 3:
    case 4:
      change_a_pod();
      break;
    case 5:
      remove_a_pod();
      break;
    case 6:
      decide();
      break;
    case 7:
      end_a_decision();
      break;
    case 8:
    case 9:
      change_slots();
      break;
    default:
      if (luck_.one_in(6))
        change_record();
    }
  }

  void expect_the_same() {
    standing_.find_listed(ground_);
    const from_scratch all{record_ ? &*record_ : nullptr, pods_, ground_};
    ASSERT_EQ(standing_.used(), all.used);
    ASSERT_EQ(standing_.unwanted_for_good(), all.unwanted_for_good);
    ASSERT_EQ(standing_.told(), all.told);
    ASSERT_EQ(standing_.held_back(), all.held_back);
    ASSERT_EQ(standing_.has_unwanted(), !all.unwanted.empty());
    standing_.look_at_unwanted_again();
    std::map<std::string, std::string> unwanted;
    for (const auto& one : standing_.take_new_unwanted())
      unwanted[one.uid] = one.node;
    ASSERT_EQ(unwanted, all.unwanted);
    ASSERT_EQ(all_lacking(standing_),
              record_ ? in_order(*record_, all.lacking) : std::vector<preemptor>{});
    for (const auto& unit : all.lacking) {
      ASSERT_TRUE(standing_.lacks(unit));
      ++waited;
    }
    held_back += all.held_back.empty() ? 0 : 1;
  }

  int waited = 0;
  int held_back = 0;

private:
  workload_record fresh_record() {
    auto record = plain(3, 4);
    auto& spec = record.spec.edit();
    spec.kind = kind_;
    spec.groups.push_back(spec.groups[0]);
    spec.groups[1].name = "b";
    spec.groups[1].count = 1;
    spec.groups[1].replicas = 5;
    spec.groups.push_back(spec.groups[0]);
    spec.groups[2].name = "gang";
    spec.groups[2].replicas = static_cast<std::int32_t>(luck_.between(1, 5));
    spec.groups[2].min_count = luck_.one_in(2) ? 3 : 2;
    spec.groups[2].disruption = luck_.one_in(2) ? disruption_mode::pod_group : disruption_mode::pod;
    if (luck_.one_in(2)) { // another that goes with it, at times not in all replicas
      auto more = spec.groups[2];
      more.name = "more";
      more.count = 2;
      more.min_count = 1;
      more.replicas = luck_.one_in(3) ? 3 : more.replicas;
      spec.groups.push_back(more);
    }
    if (luck_.one_in(3))
      spec.groups[1].required_node = "n1";
    record.status.by_group.resize(spec.groups.size());
    record.status.uid = "u" + std::to_string(++made_);
    return record;
  }

  void put_record() {
    standing_.put_record(record_ ? std::make_shared<const workload_record>(*record_) : nullptr,
                         false, ground_);
  }

  void put(pod p) {
    standing_.put_pod(std::make_shared<const shared_pod>(p), ground_);
    pods_.insert_or_assign(p.uid, std::move(p));
  }

  /// Somebody of those who wait, or anybody at all, gets a node.
  void place() {
    if (!record_)
      return;
    const auto g = luck_.below(record_->spec->groups.size());
    const auto& group = record_->spec->groups[g];
    const auto replica = static_cast<std::int32_t>(luck_.below(group.replicas));
    const auto index = static_cast<std::int32_t>(luck_.below(group.count));
    const auto at = slot_at(*record_, {group.name, replica, index});
    auto p = pod_at(record_->spec, record_->status, g, replica, index,
                    at.incarnation + (luck_.one_in(10) ? 1 : 0));
    p.node = luck_.one_in(2) ? "n1" : "n2";
    p.phase = luck_.one_in(2) ? pod_phase::nominated : pod_phase::running;
    put(p);
  }

  pod* some_pod() {
    if (pods_.empty())
      return nullptr;
    auto at = pods_.begin();
    std::advance(at, luck_.below(pods_.size()));
    return &at->second;
  }

  void change_a_pod() {
    const auto* known = some_pod();
    if (known == nullptr)
      return;
    auto p = *known;
    p.phase = luck_.one_in(3)   ? pod_phase::terminating
              : luck_.one_in(6) ? pod_phase::gone
                                : pod_phase::running;
    if (luck_.one_in(3))
      p.stop_told = now + std::chrono::seconds{luck_.between(0, 3)};
    if (luck_.one_in(3))
      p.evicted_by = luck_.one_in(2) ? "d" : "";
    put(p);
  }

  void remove_a_pod() {
    if (const auto* p = some_pod()) {
      const auto uid = p->uid;
      standing_.remove_pod(uid, ground_);
      pods_.erase(uid);
    }
  }

  portion_id some_portion() {
    const auto* p = some_pod();
    return p == nullptr ? portion_id{"w", "a", 0, 0} : portion_of(*p);
  }

  void decide() {
    const auto portion = some_portion();
    for (auto& [uid, p] : std::map(pods_))
      if (portion_of(p) == portion) {
        ground_.going[uid] = portion;
        auto victim = p;
        victim.evicted_by = "d";
        put(victim);
      }
    standing_.look_at(portion, ground_);
  }

  void end_a_decision() {
    if (ground_.going.empty())
      return;
    const auto portion = ground_.going.begin()->second;
    std::erase_if(ground_.going, [&](const auto& one) { return one.second == portion; });
    standing_.look_at(portion, ground_);
  }

  void change_slots() {
    if (!record_)
      return;
    const auto portion = some_portion();
    const pod_slot slot{portion.group, portion.replica, std::max(portion.index, 0)};
    const auto incarnation = slot_at(*record_, slot).incarnation;
    switch (luck_.below(5)) {
    case 0:
      evict(*record_, std::span{&portion, 1}, "d", now);
      break;
    case 1:
      reprieve_portions(*record_, std::span{&portion, 1}, "d");
      break;
    case 2:
      end_slot(*record_, slot, incarnation, slot_state::succeeded);
      break;
    case 3: {
      const std::pair lost{slot, incarnation};
      lose_slots(*record_, std::span{&lost, 1}, now);
      break;
    }
    default:
      record_->status.resume_after = now + std::chrono::seconds{luck_.between(0, 5)};
    }
    put_record();
  }

  void change_record() {
    if (!record_) {
      record_ = fresh_record();
    } else if (luck_.one_in(4)) {
      record_.reset();
    } else if (luck_.one_in(3)) {
      record_->deleting = !record_->deleting;
    } else if (luck_.one_in(3)) {
      for (auto& one : record_->status.by_group)
        one.priority = static_cast<std::int32_t>(luck_.below(3));
    } else {
      auto spec = *record_->spec;
      spec.groups[luck_.below(2)].count = static_cast<std::int32_t>(luck_.between(1, 4));
      spec.groups[luck_.below(2)].replicas = static_cast<std::int32_t>(luck_.between(1, 5));
      put_spec(*record_, std::move(spec));
    }
    put_record();
  }

  simulation::dice luck_;
  std::size_t page_size_ = slot_list::page_size;
  workload_kind kind_ = workload_kind::batch;
  int made_ = 0;
  std::optional<workload_record> record_;
  std::map<std::string, pod> pods_;
  some_ground ground_;
  workload_standing standing_;
};

TEST(workload_standing, is_what_a_look_at_everything_finds) {
  int waited = 0;
  int held_back = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    played_workload played{seed};
    for (int i = 0; i < 60; ++i) {
      played.change_something();
      ASSERT_NO_FATAL_FAILURE(played.expect_the_same()) << "seed " << seed << ", change " << i;
    }
    waited += played.waited;
    held_back += played.held_back;
  }
  EXPECT_GT(waited, 10'000);
  EXPECT_GT(held_back, 1'000);
}

TEST(workload_standing, of_a_million_pods_that_wait_takes_little_room_and_time) {
  some_ground ground;
  workload_standing standing;
  auto record = plain(1'000, 1'000);
  standing.put_record(std::make_shared<const workload_record>(record), false, ground);
  ASSERT_EQ(standing.runs().size(), 1U);
  const auto run = standing.runs().front();
  EXPECT_EQ(run->size(), 1'000'000);
  auto p = pod_at(record.spec, record.status, 0, 500, 3, 0);
  p.node = "n1";
  p.phase = pod_phase::running;
  standing.put_pod(std::make_shared<const shared_pod>(p), ground);
  EXPECT_EQ(run->size(), 999'999);
  end_slot(record, {"a", 500, 3}, 0, slot_state::succeeded);
  standing.put_record(std::make_shared<const workload_record>(record), false, ground);
  standing.remove_pod(p.uid, ground);
  EXPECT_EQ(standing.runs().front()->size(), 999'999);
}

TEST(workload_standing, of_gangs_of_which_all_replicas_wait_has_one_run_and_lists_none) {
  some_ground ground;
  workload_standing standing;
  auto record = gangs_of(2, 20'000);
  standing.put_record(std::make_shared<const workload_record>(record), false, ground);
  standing.find_listed(ground);
  ASSERT_EQ(standing.runs().size(), 1U);
  EXPECT_EQ(standing.runs().front()->size(), 20'000);
  EXPECT_TRUE(standing.listed().empty());
  // Of one that has a part, the rest is asked for by itself.
  auto p = pod_at(record.spec, record.status, 0, 7, 0, 0);
  p.node = "n1";
  p.phase = pod_phase::running;
  standing.put_pod(std::make_shared<const shared_pod>(p), ground);
  standing.find_listed(ground);
  EXPECT_EQ(standing.runs().front()->size(), 19'999);
  ASSERT_EQ(standing.listed().size(), 1U);
  EXPECT_EQ(standing.listed().front()->groups.front().pods.size(), 1U);
  EXPECT_TRUE(standing.lacks(*standing.listed().front()));
  EXPECT_TRUE(standing.lacks(*standing.runs().front()->unit_at(8)));
}

/// How long one pod's end takes in a workload all of whose pods run.
std::chrono::nanoseconds time_of_an_end(std::int32_t pods, bool gangs = false) {
  some_ground ground;
  workload_standing standing;
  auto record = gangs ? gangs_of(1, pods) : plain(1, pods);
  standing.put_record(std::make_shared<const workload_record>(record), false, ground);
  std::vector<std::string> uids;
  for (std::int32_t i = 0; i < pods; ++i) {
    auto p = pod_at(record.spec, record.status, 0, i, 0, 0);
    p.node = "n";
    p.phase = pod_phase::running;
    uids.push_back(p.uid);
    standing.put_pod(std::make_shared<const shared_pod>(std::move(p)), ground);
  }
  standing.find_listed(ground);
  const auto begin = std::chrono::steady_clock::now();
  constexpr std::int32_t ends = 300;
  for (std::int32_t i = 0; i < ends; ++i) {
    const auto index = i * (pods / ends);
    end_slot(record, {"a", index, 0}, 0, slot_state::succeeded);
    standing.put_record(std::make_shared<const workload_record>(record), false, ground);
    standing.remove_pod(uids[static_cast<std::size_t>(index)], ground);
    standing.find_listed(ground);
  }
  return (std::chrono::steady_clock::now() - begin) / ends;
}

TEST(workload_standing, changes_by_one_pod_at_no_more_cost_where_there_are_many) {
  auto few = time_of_an_end(1'000);
  auto many = time_of_an_end(200'000);
  for (int again = 0; again < 3 && many > 3 * few; ++again) { // others may have had the machine
    few = time_of_an_end(1'000);
    many = time_of_an_end(200'000);
  }
  EXPECT_LT(many.count(), 3 * few.count());
}

TEST(workload_standing, of_many_gangs_changes_by_one_at_no_more_cost_than_of_few) {
  auto few = time_of_an_end(500, true);
  auto many = time_of_an_end(20'000, true);
  for (int again = 0; again < 3 && many > 5 * few; ++again) {
    few = time_of_an_end(500, true);
    many = time_of_an_end(20'000, true);
  }
  EXPECT_LT(many.count(), 5 * few.count());
}

} // namespace

} // namespace reprieve
