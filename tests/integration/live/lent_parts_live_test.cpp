// Files with parts in shards of two replicas, through the real programs: whoever was to write them
// is killed while the store hangs.

#include "tests/integration/live/replica_pair.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <optional>
#include <thread>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

enum class killed { first, second, both };

/// Two replicas, each with some of the shards of two resource groups.
class lent_parts_live : public testing::Test {
protected:
  void SetUp() override {
    if (!etcd_process::available())
      GTEST_SKIP() << "no etcd on this machine";
    replicas_.emplace();
    const auto groups = apply("kind: ResourceGroup\nmetadata: {name: east}\n---\n"
                              "kind: ResourceGroup\nmetadata: {name: west}\n");
    ASSERT_EQ(groups.code, 0) << groups.output;
    // It takes a moment until somebody serves them.
    ASSERT_TRUE(within(std::chrono::seconds{30}, [&] { return apply(file("before")).code == 0; }));
  }

  /// Work in both resource groups, all named after `name`.
  static std::string file(const std::string& name, int each = 3, int pods = 1) {
    std::string all;
    for (const auto* group : {"east", "west"})
      for (int i = 0; i < each; ++i)
        all += work_of(
          fmt::format("{}-{}{}", name, group, i),
          {.pods = pods, .requests = "gpu: 0", .more = fmt::format("resourceGroup: {}", group)});
    return all;
  }

  std::string stored_in_file(const std::string& manifests) {
    return replicas_->stored_in_file(manifests);
  }

  run_result apply(const std::string& manifests) {
    return replicas_->apply(manifests);
  }

  daemon_process& replica(std::size_t which) {
    return (*replicas_)[which];
  }

  /// How many objects of that name the replica shows; nothing where it can't say for sure.
  std::optional<std::size_t> shown(std::size_t by, const std::string& name) {
    const auto got = replica(by).cli({"get", "workloads"});
    if (got.code != 0 || got.output.find(" old: who owns it") != std::string::npos)
      return std::nullopt;
    std::size_t found = 0;
    std::istringstream lines(got.output);
    for (std::string line; std::getline(lines, line);)
      found += line.starts_with(name + "-") ? 1 : 0;
    return found;
  }

  static std::size_t count(const run_result& of, const std::string& word) {
    std::size_t found = 0;
    for (auto at = of.output.find(word); at != std::string::npos; at = of.output.find(word, at + 1))
      ++found;
    return found;
  }

  /// Runs the command through the first replica while the store hangs, and kills before it goes on.
  void cut_short(const std::vector<std::string>& command, killed who, milliseconds pause) {
    replicas_->etcd().pause();
    auto user = std::async(std::launch::async, [&] { return replica(0).cli(command); });
    std::this_thread::sleep_for(pause);
    for (std::size_t i = 0; i < replica_pair::size; ++i)
      if (dies(i, who))
        replica(i).kill();
    replicas_->etcd().resume();
    user.wait();
    for (std::size_t i = 0; i < replica_pair::size; ++i)
      if (dies(i, who))
        replicas_->start(i);
  }

  static bool dies(std::size_t which, killed who) {
    return who == killed::both || which == (who == killed::first ? 0U : 1U);
  }

  /// All or nothing, whoever is asked.
  std::optional<std::size_t> expect_all_or_none(const std::string& name, std::size_t all) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < replica_pair::size; ++i)
      if (const auto here = shown(i, name)) {
        EXPECT_TRUE(*here == 0 || *here == all) << "replica " << i << " shows " << *here;
        found = here;
      }
    return found;
  }

  void expect_whole(const std::string& name, std::size_t all) {
    for (std::size_t i = 0; i < replica_pair::size; ++i) {
      EXPECT_EQ(shown(i, name), all) << "replica " << i;
      EXPECT_THAT(replica(i).output(), Not(HasSubstr("has another owner now")));
    }
  }

  /// Is cut short, and asked for again at once.
  void apply_twice(const std::string& name, int each, killed who, milliseconds pause) {
    const auto all = file(name, each);
    cut_short({"apply", "-f", stored_in_file(all)}, who, pause);
    const auto objects = 2 * static_cast<std::size_t>(each);
    const auto before = expect_all_or_none(name, objects);
    const auto again = apply(all);
    EXPECT_EQ(again.code, 0) << again.output;
    const auto created = count(again, "created");
    EXPECT_TRUE(created == 0 || created == objects) << again.output;
    EXPECT_EQ(count(again, "created") + count(again, "unchanged"), objects) << again.output;
    if (before == objects) {
      EXPECT_EQ(created, 0U) << again.output;
    }
    expect_whole(name, objects);
  }

  std::optional<replica_pair> replicas_;
};

TEST_F(lent_parts_live, a_file_is_whole_when_it_is_applied_again_after_its_replica_was_killed) {
  for (int i = 0; i < 5; ++i)
    apply_twice(fmt::format("f{}", i), 1 + i % 3, killed::first, milliseconds{300 + 250 * i});
}

TEST_F(lent_parts_live, a_file_is_whole_whoever_else_was_killed) {
  apply_twice("second", 2, killed::second, milliseconds{700});
  apply_twice("both", 2, killed::both, milliseconds{700});
}

TEST_F(lent_parts_live, a_file_is_whole_where_the_store_hung_for_longer_than_a_lease) {
  apply_twice("late", 2, killed::first, milliseconds{4500});
}

TEST_F(lent_parts_live, a_file_of_more_than_one_transaction_is_whole) {
  apply_twice("large", 120, killed::first, milliseconds{1000});
  apply_twice("larger", 150, killed::second, milliseconds{1000});
}

/// Work that is being deleted goes one by one, as its pods do.
TEST_F(lent_parts_live, all_of_a_file_is_gone_when_it_is_deleted_again) {
  for (int i = 0; i < 3; ++i) {
    const auto name = fmt::format("f{}", i);
    const auto path = stored_in_file(file(name, 2));
    ASSERT_EQ(apply(file(name, 2)).code, 0);
    cut_short({"delete", "-f", path}, killed::first, milliseconds{400 + 300 * i});
    const auto again = replica(0).cli({"delete", "-f", path});
    EXPECT_EQ(again.code, 0) << again.output;
    for (std::size_t k = 0; k < replica_pair::size; ++k)
      EXPECT_TRUE(within(std::chrono::seconds{15}, [&] { return shown(k, name) == 0U; }));
  }
}

TEST_F(lent_parts_live, a_file_is_created_by_one_of_those_who_apply_it_at_once) {
  for (int i = 0; i < 3; ++i) {
    const auto path = stored_in_file(file(fmt::format("f{}", i), 2));
    std::vector<std::future<run_result>> users;
    for (std::size_t k = 0; k < 6; ++k)
      users.push_back(std::async(std::launch::async, [&, k] {
        return replica(k % 2).cli({"apply", "-f", path});
      }));
    std::size_t created = 0;
    for (auto& one : users) {
      const auto how = one.get();
      EXPECT_EQ(how.code, 0) << how.output;
      created += count(how, "created");
      EXPECT_EQ(count(how, "created") + count(how, "unchanged"), 4U) << how.output;
    }
    EXPECT_EQ(created, 4U);
  }
}

} // namespace

} // namespace reprieve
