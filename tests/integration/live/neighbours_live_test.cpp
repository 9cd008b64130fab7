// What one tenant submits is its own trouble, through the real programs: others are placed as
// before, and the daemon ends when it is told to.

#include "protocol/client/api_client.hpp"
#include "tests/integration/live/live_cluster.hpp"
#include "tests/support/etcd_process.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using steady = std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int many = 20'000;

/// Two queues that deserve the same, and two nodes.
class neighbours_live : public testing::Test {
protected:
  void serve(const std::string& capacity, std::vector<std::string> more = {}) {
    daemon_ = std::make_unique<daemon_process>(data_.path() / "daemon", std::move(more));
    ASSERT_TRUE(daemon_->serves()) << daemon_->output();
    apply(nodes(2, capacity) + queue_of("tenant", "weight: 1, capByDemand: true")
          + queue_of("other", "weight: 1, capByDemand: true"));
    alone_ = start_time("alone");
  }

  void apply(const std::string& manifests) {
    const auto file = (data_.path() / "manifests.yaml").string();
    std::ofstream(file) << manifests;
    const auto result = cli({"apply", "-f", file});
    ASSERT_EQ(result.code, 0) << result.output;
  }

  /// Runs the command line as whoever this test is.
  run_result cli(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), as_.begin(), as_.end());
    return daemon_->cli(arguments);
  }

  std::string explain(const std::string& workload) const {
    return cli({"explain", "workload", workload}).output;
  }

  /// How often the machines were told to start a pod whose name begins so.
  int started(const std::string& prefix) const {
    const auto journal = file_contents((data_.path() / "daemon/simulated-cluster.jsonl").string());
    int count = 0;
    std::size_t at = 0;
    while (at < journal.size()) {
      const auto end = std::min(journal.find('\n', at), journal.size());
      const std::string_view line{journal.data() + at, end - at};
      count += line.find("\"starting\"") != std::string_view::npos
                   && line.find('"' + prefix) != std::string_view::npos
                 ? 1
                 : 0;
      at = end + 1;
    }
    return count;
  }

  bool starts(const std::string& prefix, int pods = 1, seconds most = seconds{20}) const {
    return within(most, [&] { return started(prefix) >= pods; });
  }

  /// How long a job of the other queue takes from its submission until it is started.
  milliseconds start_time(const std::string& name) {
    const auto began = steady::now();
    apply(work_of(name, {.queue = "other", .requests = "cpu: 1"}));
    EXPECT_TRUE(starts(name + "-")) << explain(name);
    return std::chrono::duration_cast<milliseconds>(steady::now() - began);
  }

  /// Jobs of the other queue start soon, each time, by what this machine takes for one; one whose
  /// room others leave first waits half a second for that.
  void expect_others_served() {
    std::vector<milliseconds> times;
    for (int i = 0; i < 5; ++i)
      times.push_back(start_time(fmt::format("job-{}", ++jobs_)));
    std::ranges::sort(times);
    EXPECT_LT(times[2], seconds{1} + 4 * alone_)
      << "alone it takes " << alone_.count() << " ms, the longest took " << times.back().count();
    EXPECT_LT(times.back(), seconds{5});
  }

  void expect_end() {
    const auto begin = steady::now();
    EXPECT_EQ(daemon_->stop(), 0) << daemon_->output();
    EXPECT_LT(steady::now() - begin, seconds{5});
  }

  temporary_directory data_;
  std::unique_ptr<daemon_process> daemon_;
  std::vector<std::string> as_; ///< options that say who calls
  milliseconds alone_{0};
  int jobs_ = 0;
};

std::string gangs_of_one(int replicas) {
  return fmt::format("---\nkind: Workload\nmetadata: {{name: tiny}}\nspec:\n  queue: tenant\n"
                     "  podGroups:\n    - {{name: w, count: 1, minCount: 1, replicas: {}, "
                     "template: {{spec: {{requests: {{cpu: 1m}}}}}}}}\n",
                     replicas);
}

std::string bound_to_a_node(int pods) {
  return fmt::format("---\nkind: Workload\nmetadata: {{name: tiny}}\nspec:\n  queue: tenant\n"
                     "  podGroups:\n    - {{name: w, count: {}, requiredNode: n0, "
                     "template: {{spec: {{requests: {{cpu: 1m}}}}}}}}\n",
                     pods);
}

/// Groups of which none is large, with labels of their own.
std::string of_many_groups(int pods_of_each, int labels) {
  constexpr int groups = 128;
  std::string all =
    "---\nkind: Workload\nmetadata: {name: tiny}\nspec:\n  queue: tenant\n  podGroups:\n";
  for (int g = 0; g < groups; ++g) {
    std::string own;
    for (int i = 0; i < labels; ++i)
      own += fmt::format("{}k{}-{}: v", i == 0 ? "" : ", ", g, i);
    all += fmt::format("    - {{name: g{}, count: {}, template: {{metadata: {{labels: {{{}}}}}, "
                       "spec: {{requests: {{cpu: 1m}}}}}}}}\n",
                       g, pods_of_each, own);
  }
  return all;
}

/// Gangs of eight pods, each a workload of its own.
std::string many_gangs(int gangs) {
  const work_shape gang{.queue = "tenant", .pods = 8, .gang = true, .requests = "cpu: 1m"};
  auto all = work_of("tiny", gang);
  for (int i = 1; i < gangs; ++i)
    all += work_of(fmt::format("tiny-{}", i), gang);
  return all;
}

struct shape_of_many {
  const char* name;
  std::string manifest;
  std::string capacity = "cpu: 64, pods: 110";
};

void PrintTo(const shape_of_many& one, std::ostream* to) {
  *to << one.name;
}

class beside_many_pods : public neighbours_live,
                         public testing::WithParamInterface<shape_of_many> {};

TEST_P(beside_many_pods, of_one_tenant_others_are_served) {
  serve(GetParam().capacity);
  apply(GetParam().manifest);
  expect_others_served();
  EXPECT_FALSE(explain("tiny").empty());
  expect_end();
}

TEST_P(beside_many_pods, of_one_tenant_the_daemon_ends_at_once) {
  serve(GetParam().capacity);
  apply(GetParam().manifest);
  expect_end();
}

std::vector<shape_of_many> shapes_of_many() {
  const work_shape pods{.queue = "tenant", .pods = many, .requests = "cpu: 1m"};
  auto gang = pods;
  gang.gang = true;
  return {{"that_wait", work_of("tiny", pods)},
          {"that_fill_the_records_of_nodes", work_of("tiny", pods), "cpu: 64"},
          {"of_a_gang_without_places", work_of("tiny", gang)},
          {"of_a_gang_that_no_record_takes", work_of("tiny", gang), "cpu: 64"},
          {"of_gangs_of_one", gangs_of_one(many)},
          {"of_many_gangs", many_gangs(2'500), "cpu: 64"},
          {"bound_to_one_node", bound_to_a_node(many)},
          {"of_many_groups", of_many_groups(many / 128, 0), "cpu: 64"},
          {"of_many_groups_with_labels", of_many_groups(50, 60), "cpu: 64"}};
}

INSTANTIATE_TEST_SUITE_P(many, beside_many_pods, testing::ValuesIn(shapes_of_many()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_F(neighbours_live, a_gang_whose_pods_no_record_takes_says_so_and_closes_no_node) {
  serve("cpu: 64");
  const auto note = fmt::format("note: \"{}\"", std::string(60'000, 'x'));
  apply(
    work_of(
      "heavy",
      {.queue = "tenant", .pods = 100, .gang = true, .requests = "cpu: 1m", .annotations = note})
    + work_of("light", {.queue = "other", .pods = 60, .requests = "cpu: 1"}));
  EXPECT_TRUE(starts("light-", 60)) << explain("light");
  EXPECT_THAT(explain("heavy"),
              AllOf(HasSubstr("is put aside"), HasSubstr("room for 18 of the 100"),
                    HasSubstr("shorter labels and annotations")));
  EXPECT_EQ(started("heavy-"), 0);
  // What comes in its stead has nothing to do with that.
  ASSERT_EQ(daemon_->cli({"delete", "workload", "heavy"}).code, 0);
  apply(work_of("heavy", {.queue = "tenant", .pods = 10, .gang = true, .requests = "cpu: 1m"}));
  EXPECT_TRUE(starts("heavy-", 10)) << explain("heavy");
}

/// An etcd that takes less at a time than is usual.
TEST_F(neighbours_live, a_gang_that_the_store_does_not_take_is_put_aside_and_others_start) {
  if (!etcd_process::available())
    GTEST_SKIP() << "no etcd on this machine";
  etcd_process store{{"--max-request-bytes", "50000"}};
  serve("cpu: 64", {"--etcd", store.endpoint()});
  const auto note = fmt::format("note: \"{}\"", std::string(1000, 'x'));
  std::string all = work_of(
    "large",
    {.queue = "tenant", .pods = 100, .gang = true, .requests = "cpu: 1m", .annotations = note});
  for (int i = 0; i < 10; ++i)
    all += work_of(fmt::format("small-{}", i), {.queue = "other", .requests = "cpu: 1"});
  apply(all); // they share the first decision
  EXPECT_TRUE(starts("small-", 10));
  EXPECT_TRUE(
    within(seconds{10}, [&] { return explain("large").find("is put aside") != std::string::npos; }))
    << explain("large");
  EXPECT_THAT(explain("large"), HasSubstr("request is too large"));
  EXPECT_EQ(started("large-"), 0);
  expect_others_served();
  expect_end();
}

/// Callers who ask and ask for what is not there, from many threads.
class vain_readers {
public:
  vain_readers(const std::string& address, const std::string& token, int count) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this, address, token] {
        api_client server({.servers = {address}, .token = token});
        while (!ended_) {
          const auto found = server.get({object_kind::workload, {}, {}, "nobodys"});
          if (found.ok())
            ++answers_;
          else
            std::this_thread::sleep_for(milliseconds{10});
        }
      });
  }
  ~vain_readers() {
    ended_ = true;
    for (auto& one : threads_)
      one.join();
  }
  vain_readers(const vain_readers&) = delete;
  vain_readers& operator=(const vain_readers&) = delete;

  int answers() const {
    return answers_;
  }

private:
  std::atomic<bool> ended_ = false;
  std::atomic<int> answers_ = 0;
  std::vector<std::thread> threads_;
};

class beside_many_reads : public neighbours_live {
protected:
  void SetUp() override {
    const auto tokens = (data_.path() / "tokens").string();
    std::ofstream(tokens) << "root admin token=root-has-this-token\n"
                             "eve viewer token=eve-has-this-token\n";
    as_ = {"--token", "root-has-this-token"};
    serve("cpu: 64", {"--tokens", tokens});
    apply("kind: ResourceGroup\nmetadata: {name: default}\nspec: {heartbeatTimeout: 2s}\n");
    submit_what_waits();
  }

  /// Workloads that no node has room for.
  void submit_what_waits() {
    constexpr int at_once = 2'000;
    for (int first = 0; first < many; first += at_once) {
      std::string some;
      for (int i = first; i < first + at_once; ++i)
        some += work_of(fmt::format("waits-{:05}", i), {.queue = "tenant", .requests = "cpu: 999"});
      apply(some);
    }
  }

  milliseconds time_of(std::vector<std::string> arguments) const {
    const auto began = steady::now();
    const auto result = cli(std::move(arguments));
    EXPECT_EQ(result.code, 0) << result.output;
    return std::chrono::duration_cast<milliseconds>(steady::now() - began);
  }
};

TEST_F(beside_many_reads, that_match_nothing_others_are_served_and_no_node_is_lost) {
  const child_process agent(
    daemon_->command({"--token", "root-has-this-token", "heartbeat", "n0", "--every", "100ms"}),
    (data_.path() / "agent").string());
  const auto get_alone = time_of({"get", "workload", "waits-00001"});
  {
    const vain_readers eve(daemon_->address(), "eve-has-this-token", 100);
    expect_others_served();
    for (int i = 0; i < 5; ++i)
      EXPECT_LT(time_of({"get", "workload", "waits-00001"}), seconds{1} + 4 * get_alone);
    EXPECT_GT(eve.answers(), 0);
  }
  EXPECT_THAT(cli({"events"}).output, Not(HasSubstr("NodeLost")));
  expect_end();
}

TEST_F(beside_many_reads, a_list_that_is_read_on_behind_empty_pages_holds_all_that_is_asked_for) {
  apply(queue_of("rare", "weight: 1")
        + work_of("zz-last", {.queue = "rare", .requests = "cpu: 999"}));
  EXPECT_THAT(cli({"get", "workloads", "--queue", "rare"}).output, HasSubstr("zz-last"));
  EXPECT_THAT(cli({"get", "workloads", "--queue", "tenant"}).output,
              AllOf(HasSubstr("waits-00000"), HasSubstr("waits-19999"), Not(HasSubstr("zz-last"))));
}

} // namespace

} // namespace reprieve
