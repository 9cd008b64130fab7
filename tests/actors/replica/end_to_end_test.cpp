#include "protocol/manifest/manifest_reader.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "state/records/node_record.hpp"
#include "tests/actors/replica/replica_test.hpp"

#include <algorithm>
#include <map>

namespace reprieve {

namespace {

using std::chrono::seconds;

std::vector<object> demo(const std::string& file) {
  const auto read = read_manifest_file(REPRIEVE_DEMO_MANIFESTS "/" + file);
  EXPECT_TRUE(read.ok()) << read.status();
  std::vector<object> objects;
  for (const auto& one : *read)
    objects.push_back(one.value);
  return objects;
}

bool demo_is_over(replica_world& replica) {
  return replica.pods("urgent-inference", pod_phase::running) == 4
         && replica.pods("train-large", pod_phase::terminating) == 0;
}

void expect_invariants(replica_world& replica) {
  std::map<std::string, node_record> nodes;
  for (const auto& one : replica.get(object_kind::node))
    nodes[name_of(one.what)].spec = std::get<node>(one.what);
  for (const auto& one : replica.get(object_kind::pod))
    put_pod(nodes[std::get<pod>(one.what).node], std::get<pod>(one.what));
  for (const auto& [name, record] : nodes) {
    resources bound;
    for (const auto& p : record.pods)
      if (takes_room(p.phase) && p.phase != pod_phase::nominated)
        for (const auto& [resource, amount] : p.requests)
          bound[resource] += amount;
    for (const auto& [resource, amount] : bound)
      EXPECT_LE(amount, amount_of(record.spec->capacity, resource))
        << resource << " is overcommitted on " << name;
  }
}

class end_to_end : public replica_test {};

TEST_F(end_to_end, a_gang_yields_as_a_whole_to_a_more_important_one) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply(demo("1-cluster.yaml")).ok());
  ASSERT_TRUE(replica.apply(demo("2-work.yaml")).ok());
  ASSERT_TRUE(replica.world().advance_until(
    [&] { return replica.pods("train-large", pod_phase::running) == 4; }, seconds{10}));

  ASSERT_TRUE(replica.apply(demo("3-urgent.yaml")).ok());
  ASSERT_TRUE(replica.world().advance_until([&] { return demo_is_over(replica); }, seconds{30}));

  EXPECT_EQ(replica.pods("train-large", pod_phase::running), 0U);
  EXPECT_EQ(replica.pods("train-small", pod_phase::running), 2U);
  EXPECT_EQ(replica.pods("notebook", pod_phase::running), 1U);
  EXPECT_EQ(replica.pods("node-exporter", pod_phase::running), 1U);
  expect_invariants(replica);
}

TEST_F(end_to_end, the_decision_is_explained_to_preemptor_and_victim) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  for (const auto* file : {"1-cluster.yaml", "2-work.yaml"}) {
    ASSERT_TRUE(replica.apply(demo(file)).ok());
    replica.world().advance(seconds{2});
  }
  ASSERT_TRUE(replica.apply(demo("3-urgent.yaml")).ok());
  ASSERT_TRUE(replica.world().advance_until([&] { return demo_is_over(replica); }, seconds{30}));
  for (const auto* name : {"urgent-inference", "train-large"}) {
    const auto found = replica.explain_workload(name);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_FALSE(found->decisions.empty());
    const auto& newest = found->decisions.front();
    EXPECT_EQ(newest.phase, decision_phase::done);
    ASSERT_EQ(newest.victims.size(), 1U);
    EXPECT_EQ(to_string(newest.victims.front().portion), "train-large/workers/0");
    EXPECT_EQ(newest.victims.front().pods.size(), 4U);
    EXPECT_EQ(newest.why.threshold, 10);
    EXPECT_FALSE(newest.why.domains.empty());
  }
}

TEST_F(end_to_end, no_victim_is_told_before_its_decision_is_committed) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply(demo("1-cluster.yaml")).ok());
  ASSERT_TRUE(replica.apply(demo("2-work.yaml")).ok());
  replica.world().advance(seconds{3});
  ASSERT_TRUE(replica.apply(demo("3-urgent.yaml")).ok());
  // Whatever write is the commit: nothing gets through from here on.
  for (std::size_t n = 0; n < 1000; ++n)
    replica.faults().fault_at(n, faulty_store::fault::refused);
  replica.world().advance(seconds{5});
  EXPECT_TRUE(read_account(journal()).stopped.empty());
}

TEST_F(end_to_end, a_workload_that_can_not_be_placed_disturbs_nobody_and_says_why) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply(demo("1-cluster.yaml")).ok());
  ASSERT_TRUE(replica.apply(demo("2-work.yaml")).ok());
  replica.world().advance(seconds{2});
  auto urgent = demo("3-urgent.yaml");
  std::get<workload>(urgent.front()).groups.front().count = 5;
  std::get<workload>(urgent.front()).groups.front().min_count = 5;
  ASSERT_TRUE(replica.apply(urgent).ok());
  replica.world().advance(seconds{5});
  EXPECT_TRUE(read_account(journal()).stopped.empty());
  const auto why = replica.explain_workload("urgent-inference");
  ASSERT_TRUE(why.ok());
  EXPECT_TRUE(why->decisions.empty());
  EXPECT_NE(why->pending_reason.find("gpu"), std::string::npos) << why->pending_reason;
}

TEST_F(end_to_end, deleting_the_preemptor_while_victims_leave_frees_what_it_held) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply(demo("1-cluster.yaml")).ok());
  ASSERT_TRUE(replica.apply(demo("2-work.yaml")).ok());
  replica.world().advance(seconds{2});
  ASSERT_TRUE(replica.apply(demo("3-urgent.yaml")).ok());
  ASSERT_TRUE(replica.world().advance_until(
    [&] { return replica.pods("urgent-inference", pod_phase::nominated) == 4; }, seconds{5}));
  ASSERT_TRUE(replica.remove(object_kind::workload, "urgent-inference").ok());
  replica.world().advance(seconds{10});
  EXPECT_TRUE(replica.get(object_kind::workload, "urgent-inference").empty());
  for (const auto phase : {pod_phase::nominated, pod_phase::bound, pod_phase::running})
    EXPECT_EQ(replica.pods("urgent-inference", phase), 0U);
}

TEST_F(end_to_end, deleting_a_running_workload_stops_its_pods_then_forgets_it) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply(demo("1-cluster.yaml")).ok());
  ASSERT_TRUE(replica.apply(demo("2-work.yaml")).ok());
  replica.world().advance(seconds{2});
  ASSERT_TRUE(replica.remove(object_kind::workload, "train-large").ok());
  EXPECT_TRUE(replica.world().advance_until(
    [&] { return replica.get(object_kind::workload, "train-large").empty(); }, seconds{20}));
  EXPECT_EQ(read_account(journal()).stopped.size(), 4U);
}

TEST_F(end_to_end, a_workload_over_its_queues_limit_waits_and_says_so) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  auto cluster = demo("1-cluster.yaml");
  for (auto& one : cluster)
    if (auto* q = std::get_if<queue>(&one); q != nullptr && q->name == "models")
      q->limit = {{"gpu", 16'000}};
  ASSERT_TRUE(replica.apply(cluster).ok());
  ASSERT_TRUE(replica.apply(demo("2-work.yaml")).ok());
  replica.world().advance(seconds{3});
  // 16 + 8 + 2 GPUs are asked for in that queue; whoever comes last waits.
  std::size_t gpus = 0;
  for (const auto& one : replica.get(object_kind::pod))
    if (const auto& p = std::get<pod>(one.what); p.workload != "node-exporter")
      gpus += static_cast<std::size_t>(amount_of(p.requests, "gpu"));
  EXPECT_LE(gpus, 16'000U);
  EXPECT_GT(gpus, 0U);
}

TEST_F(end_to_end, chunks_of_a_decision_that_never_committed_are_dropped_at_the_next_start) {
  const std::string id = "00000001.000001.default";
  const auto chunk = keys::decision_body(id, 0);
  const std::string schema(keys::schema);
  store_->commit({{},
                  {put{schema, encode(schema_record{}), 0}, put{chunk, "left behind", 0},
                   put{keys::draft(id), {}, 0}}},
                 [](auto) {});
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  bool there = true;
  store_->read({just(chunk), 0, 0, false}, [&](auto found) { there = !found->values.empty(); });
  EXPECT_FALSE(there);
}

TEST_F(end_to_end, a_name_that_another_group_took_at_the_same_moment_stays_there) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply({machine("n1", 8), work("first")}).ok());
  // What a gateway elsewhere did, of which this one has not heard.
  store_->commit({{}, {put{"names/w/job", "elsewhere.0", 0}}}, [](auto) {});
  EXPECT_FALSE(replica.apply({work("job")}).ok());
  replica.world().advance(seconds{3});
  bool there = true;
  store_->read({just(keys::workload(shard_name("default", 0), "job")), 0, 0, false},
               [&](auto found) { there = !found->values.empty(); });
  EXPECT_FALSE(there);
  EXPECT_EQ(replica.lost(), "");

  // The shard has begun anew, with what it had before.
  EXPECT_TRUE(replica.apply({work("another")}).ok());
  EXPECT_TRUE(comes_to(replica, "another", pod_phase::running, 1, seconds{5}));
  EXPECT_EQ(replica.pods("first", pod_phase::running), 1U);
}

TEST_F(end_to_end, a_name_is_free_for_another_group_when_it_has_gone) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  resource_group other;
  other.name = "other";
  auto there = machine("n2", 8);
  there.resource_group = "other";
  ASSERT_TRUE(replica.apply({machine("n1", 8), other, there, work("job")}).ok());
  ASSERT_TRUE(comes_to(replica, "job", pod_phase::running, 1, seconds{5}));
  auto moved = work("job");
  moved.resource_group = "other";
  EXPECT_FALSE(replica.apply({moved}).ok());
  ASSERT_TRUE(replica.remove(object_kind::workload, "job").ok());
  EXPECT_TRUE(
    replica.world().advance_until([&] { return replica.apply({moved}).ok(); }, seconds{60}));
  EXPECT_TRUE(comes_to(replica, "job", pod_phase::running, 1, seconds{5}));
}

TEST_F(end_to_end, a_store_of_a_newer_version_is_refused_with_a_sentence) {
  schema_record newer;
  newer.version = schema_version + 1;
  store_->commit({{}, {put{std::string(keys::schema), encode(newer), 0}}}, [](auto) {});
  replica_world replica(store_, journal());
  const auto refused = replica.start();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_NE(std::string(refused.message()).find("newer reprieved"), std::string::npos) << refused;
}

TEST_F(end_to_end, a_store_of_an_older_version_is_read_and_raised_when_every_replica_knows_more) {
  schema_record older;
  older.version = first_schema_version;
  const owner_record behind{"replica-1", "", "", no_time, {}, first_schema_version};
  store_->commit({{},
                  {put{std::string(keys::schema), encode(older), 0},
                   put{keys::owner("replica-1"), encode(behind), 0},
                   put{std::string(keys::ownership), "replica-1", 0}}},
                 [](auto) {});
  const auto version = [&] {
    std::int32_t found = 0;
    store_->read({just(std::string(keys::schema)), 0, 0, false}, [&](auto read) {
      found = decode<schema_record>(read->values.front().value)->version;
    });
    return found;
  };
  replica_world replica(store_, journal());
  auto& world = replica.world();
  (void)replica.start(); // the other one is first to have the queue tree
  EXPECT_EQ(version(), first_schema_version);

  store_->commit({{}, {erase{just(keys::owner("replica-1"))}}}, [](auto) {});
  world.advance(seconds{5});
  EXPECT_EQ(version(), schema_version);
  ASSERT_TRUE(replica.apply(demo("1-cluster.yaml")).ok());
  ASSERT_TRUE(replica.apply(demo("2-work.yaml")).ok());
  EXPECT_TRUE(world.advance_until(
    [&] { return replica.pods("train-large", pod_phase::running) == 4; }, seconds{10}));
}

TEST_F(end_to_end, a_replica_that_meets_a_newer_version_later_stops_and_says_so) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  schema_record newer;
  newer.version = schema_version + 1;
  store_->commit({{}, {put{std::string(keys::schema), encode(newer), 0}}}, [](auto) {});
  replica.world().advance(seconds{2});
  EXPECT_NE(replica.lost().find("run a newer reprieved"), std::string::npos) << replica.lost();
}

TEST_F(end_to_end, a_replica_that_lost_its_place_stops_and_says_so) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  store_->commit({{}, {put{keys::owner("replica-0"), "another", 0}}}, [](auto) {});
  (void)replica.apply(demo("1-cluster.yaml"));
  EXPECT_NE(replica.lost().find("another process"), std::string::npos) << replica.lost();
}

/// Runs the demo with a crash after `steps` messages and a restart on the same store.
void crash_after(int steps, const std::shared_ptr<store>& store, const std::string& journal,
                 bool& reached) {
  {
    replica_world replica(store, journal);
    ASSERT_TRUE(replica.start().ok());
    ASSERT_TRUE(replica.apply(demo("1-cluster.yaml")).ok());
    ASSERT_TRUE(replica.apply(demo("2-work.yaml")).ok());
    ASSERT_TRUE(replica.world().advance_until(
      [&] { return replica.pods("train-large", pod_phase::running) == 4; }, seconds{10}));
    ASSERT_TRUE(replica.apply(demo("3-urgent.yaml")).ok());
    int handled = 0;
    for (int ticks = 0; handled < steps && ticks < 5'000;) {
      if (replica.world().step())
        ++handled;
      else
        ticks += replica.world().tick() ? 1 : 0;
    }
    reached = handled == steps;
  }
  replica_world replica(store, journal, std::chrono::minutes{1});
  ASSERT_TRUE(replica.start().ok());
  ASSERT_EQ(replica.get(object_kind::workload, "urgent-inference").size(), 1U)
    << "acknowledged, but lost";
  ASSERT_TRUE(replica.world().advance_until([&] { return demo_is_over(replica); }, seconds{30}))
    << "crashed after " << steps;
  expect_invariants(replica);
  const auto told = read_account(journal);
  for (const auto& [uid, times] : told.stopped)
    EXPECT_EQ(times, 1) << uid << " was stopped twice, crashed after " << steps;
  for (const auto& [uid, times] : told.started)
    EXPECT_EQ(times, 1) << uid << " was started twice, crashed after " << steps;
  EXPECT_EQ(told.stopped.size(), 4U) << "crashed after " << steps;
  EXPECT_EQ(replica.pods("train-small", pod_phase::running), 2U);
}

TEST_F(end_to_end, a_crash_after_any_message_loses_nothing_and_stops_nobody_twice) {
  bool reached = true;
  int steps = 0;
  for (; reached && !HasFailure(); ++steps) {
    const temporary_directory fresh;
    crash_after(steps, std::make_shared<memory_store>(), fresh.path() / "journal", reached);
  }
  RecordProperty("crashes", steps);
  EXPECT_GT(steps, 60);
}

} // namespace

} // namespace reprieve
