#include "tests/engine/worlds/played_cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

/// Room that a queue only borrows goes back to those who deserve it, whatever who runs there asks
/// for itself (docs/policies.md#queues).
namespace reprieve::tests {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

using change_of_workload = std::function<void(workload&)>;

workload with(workload w, const change_of_workload& change) {
  change(w);
  return w;
}

/// Eight GPUs on one node, of which queues `borrower` and `owner` deserve half each.
played_cluster two_queues() {
  played_cluster on;
  on.node("n1", gpus(8)).queue(sharing("borrower", 1)).queue(sharing("owner", 1));
  return on;
}

void runs_long(workload& w) {
  w.minimum_runtime = std::chrono::hours{87'600};
}

void protects_all(workload& w) {
  auto& group = w.groups.front();
  for (std::int32_t i = 0; i < group.count; ++i)
    group.protected_members.push_back(i);
}

void protects_one(workload& w) {
  w.groups.front().protected_members = {0};
}

void opts_out(workload& w) {
  w.groups.front().pods.labels["reprieve/allow-preemption"] = "false";
}

struct claim {
  std::string name;
  workload (*made)(const std::string&, const std::string&, std::int32_t, resources, std::int32_t);
  change_of_workload asks;
  std::size_t stopped; ///< pods, for an owner of four
};

void PrintTo(const claim& of, std::ostream* out) {
  *out << of.name;
}

class claims_on_borrowed_room : public ::testing::TestWithParam<claim> {};

} // namespace

TEST_P(claims_on_borrowed_room, goes_back_to_its_owner_whatever_the_borrower_asks_for) {
  for (const std::int32_t priority : {0, 1'000'000'000}) {
    auto on = two_queues();
    on.limits().opt_out_is_veto = true;
    on.submit(with(GetParam().made("all", "borrower", 0, gpus(1), 8), GetParam().asks));
    ASSERT_EQ(on.settle(), 0u);
    ASSERT_EQ(on.pods_of("all"), 8u);

    on.submit(work("mine", "owner", priority, gpus(1), 4));
    EXPECT_EQ(on.settle(), GetParam().stopped);
    EXPECT_EQ(on.pods_of("mine"), 4u) << on.why("mine");
    EXPECT_THAT(on.evictions(), Each("all"));
  }
}

INSTANTIATE_TEST_SUITE_P(all, claims_on_borrowed_room,
                         ::testing::Values(claim{"minimum_runtime", work, runs_long, 4},
                                           claim{"all_protected", work, protects_all, 4},
                                           claim{"gang_with_one_protected", gang_of, protects_one,
                                                 8},
                                           claim{"opted_out", work, opts_out, 4}),
                         [](const auto& of) { return of.param.name; });

TEST(borrowed_room, goes_back_whole_where_a_gang_goes_whole) {
  auto on = two_queues();
  on.submit(with(gang_of("first", "borrower", 0, gpus(1), 4), protects_one));
  ASSERT_EQ(on.settle(), 0u);
  on.submit(with(gang_of("second", "borrower", 0, gpus(1), 4), protects_one));
  ASSERT_EQ(on.settle(), 0u);

  on.submit(work("mine", "owner", 0, gpus(1)));
  EXPECT_EQ(on.settle(), 4u);
  EXPECT_THAT(on.evictions(), ElementsAre("second", "second", "second", "second"));
  EXPECT_EQ(on.pods_of("mine"), 1u);
}

TEST(borrowed_room, is_given_back_first_by_those_who_ask_for_nothing_against_it) {
  auto on = two_queues();
  on.submit(with(work("leaders", "borrower", 0, gpus(1), 4), protects_all));
  on.submit(work("others", "borrower", 10, gpus(1), 4));
  ASSERT_EQ(on.settle(), 0u);

  on.submit(work("mine", "owner", 0, gpus(1), 4));
  EXPECT_EQ(on.settle(), 4u);
  EXPECT_THAT(on.evictions(), Each("others"));
}

TEST(borrowed_room, ends_at_what_the_queue_deserves_where_protection_holds_again) {
  auto on = two_queues();
  on.submit(with(work("kept", "borrower", 0, gpus(1), 4), protects_all));
  on.submit(work("mine", "owner", 0, gpus(1), 4));
  ASSERT_EQ(on.settle(), 0u);

  on.submit(work("more", "owner", 1'000, gpus(1), 4));
  on.settle();
  EXPECT_EQ(on.pods_of("kept"), 4u) << "it is what its queue deserves";
  EXPECT_THAT(on.evictions(), Each("mine"));
}

TEST(borrowed_room, of_daemons_leaves_others_to_give_back_what_is_too_much) {
  auto on = two_queues();
  auto agents = work("agents", "borrower", 0, gpus(1), 4);
  agents.kind = workload_kind::daemon;
  on.submit(std::move(agents)).submit(work("others", "borrower", 10, gpus(1), 4));
  ASSERT_EQ(on.settle(), 0u);

  on.submit(work("mine", "owner", 0, gpus(1), 4));
  EXPECT_EQ(on.settle(), 4u);
  EXPECT_THAT(on.evictions(), Each("others"));
  EXPECT_EQ(on.pods_of("mine"), 4u);
}

/// Both queues are below one whose limit is all that there is to have.
TEST(borrowed_room, goes_back_where_a_limit_above_both_is_used_up) {
  for (const auto& asks : {change_of_workload{runs_long}, change_of_workload{protects_all},
                           change_of_workload{[](workload&) {}}}) {
    played_cluster on;
    on.node("n1", gpus(8)).node("n2", gpus(8)).queue(limited_to(sharing("both", 1), gpus(8)));
    for (const auto* name : {"borrower", "owner"}) {
      auto q = sharing(name, 1);
      q.parent = "both";
      on.queue(std::move(q));
    }
    on.submit(with(work("all", "borrower", 0, gpus(1), 8), asks));
    ASSERT_EQ(on.settle(), 0u);
    ASSERT_EQ(on.pods_of("all"), 8u);

    on.submit(work("mine", "owner", 0, gpus(1), 4));
    EXPECT_EQ(on.settle(), 4u);
    EXPECT_EQ(on.pods_of("mine"), 4u) << on.why("mine");
    EXPECT_EQ(on.pods_of("all"), 4u);
  }
}

// -- pods that name their node --------------------------------------------------------------------

namespace {

workload on_node(workload w, const std::string& node) {
  w.groups.front().required_node = node;
  return w;
}

/// Two nodes of four GPUs; `theirs` runs on n1 and uses what its queue deserves.
played_cluster one_node_in_use() {
  played_cluster on;
  on.node("n1", gpus(4)).node("n2", gpus(4)).queue(sharing("a", 1)).queue(sharing("b", 1));
  on.submit(work("theirs", "a", 0, gpus(1), 4));
  EXPECT_EQ(on.settle(), 0u);
  return on;
}

} // namespace

TEST(pinned_pods, take_nothing_of_others_who_use_what_they_deserve) {
  auto on = one_node_in_use();
  on.submit(on_node(work("mine", "b", 1'000, gpus(2)), "n1"));

  EXPECT_EQ(on.settle(), 0u);
  EXPECT_EQ(on.pods_of("theirs"), 4u);
  EXPECT_EQ(on.pods_of("mine"), 0u);
}

TEST(pinned_pods, take_on_their_node_what_others_use_beyond_what_they_deserve) {
  auto on = one_node_in_use();
  on.submit(work("borrowing", "a", 0, gpus(1), 4));
  ASSERT_EQ(on.settle(), 0u);

  on.submit(on_node(work("mine", "b", 0, gpus(2)), "n1"));
  EXPECT_EQ(on.settle(), 2u);
  EXPECT_THAT(on.evictions(), Each("theirs")) << "they are on its node";
  EXPECT_EQ(on.pods_of("mine"), 1u);
}

TEST(pinned_pods, take_the_room_of_less_important_ones_of_their_own_queue) {
  auto on = one_node_in_use();
  on.submit(on_node(work("old", "b", 0, gpus(2)), "n2"));
  ASSERT_EQ(on.settle(), 0u);
  on.submit(on_node(work("mine", "b", 5, gpus(4)), "n2"));

  EXPECT_EQ(on.settle(), 1u);
  EXPECT_THAT(on.evictions(), ElementsAre("old"));
  EXPECT_EQ(on.pods_of("mine"), 1u);
}

TEST(pinned_pods, are_no_daemons_and_go_for_others) {
  auto on = two_queues();
  on.submit(on_node(work("all", "borrower", 0, gpus(1), 8), "n1"));
  ASSERT_EQ(on.settle(), 0u);

  on.submit(work("mine", "owner", 0, gpus(1), 4));
  EXPECT_EQ(on.settle(), 4u);
  EXPECT_EQ(on.pods_of("mine"), 4u);
}

TEST(pinned_pods, of_daemons_take_less_important_ones_on_their_node) {
  auto on = one_node_in_use();
  auto agent = on_node(work("agent", "b", 1'000, gpus(2)), "n1");
  agent.kind = workload_kind::daemon;
  on.submit(std::move(agent));

  EXPECT_EQ(on.settle(), 2u);
  EXPECT_EQ(on.pods_of("agent"), 1u);
}

} // namespace reprieve::tests
