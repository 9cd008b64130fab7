#include "preemption/evaluation/score_bounds.hpp"
#include "preemption/policies/workload_aware/workload_aware.hpp"
#include "preemption/search/search.hpp"
#include "tests/engine/worlds/plan_reading.hpp"
#include "tests/engine/worlds/sharded_cluster.hpp"

#include <gtest/gtest.h>

/// What the answers of shards spare.
namespace reprieve::tests {

namespace {

/// The workload-aware policy, with a count of the domains that are tried.
class counting_policy final : public policy {
public:
  explicit counting_policy(const problem& given) : rules_(given) {}

  std::string_view name() const override {
    return rules_.name();
  }
  domain_set domains() const override {
    return rules_.domains();
  }
  attempt try_domain(const domain& where) override {
    ++tried_;
    return rules_.try_domain(where);
  }
  bool node_by_node() const override {
    return rules_.node_by_node();
  }
  std::optional<score> bound(const domain& where) const override {
    return rules_.bound(where);
  }
  /// Blocks are looked at only where the answers are not enough.
  std::optional<score> bound_on(const node_block& block) const override {
    ++blocks_;
    return rules_.bound_on(block);
  }
  const candidate_rules& rules() const override {
    return rules_.rules();
  }

  int tried() const {
    return tried_;
  }
  int blocks() const {
    return blocks_;
  }

private:
  workload_aware rules_;
  int tried_ = 0;
  mutable int blocks_ = 0;
};

struct work_done {
  int nodes = 0;  ///< tried
  int blocks = 0; ///< looked at
  plan made;
};

work_done search_with(const cluster_view& view, const preemptor& who, const plan_settings& settings,
                      std::vector<shard_evaluation> answers) {
  const problem given{view, who, settings};
  counting_policy rules{given};
  live_hints seen{view, std::move(answers)};
  auto made = search_victims(given, rules, seen.on(given));
  return {rules.tried(), rules.blocks(), std::move(made)};
}

} // namespace

TEST(evaluation_effort, in_a_full_cluster_few_nodes_are_tried) {
  std::mt19937_64 random{1};
  const auto in = full_of_groups(1'000, random);
  const auto merged = in.view();
  auto settings = open_settings();
  settings.explained = depth::chosen;
  const sharded_cluster split{in, merged, 8, random};
  const sharded_cluster blind{in, merged, 8, random, sharded_cluster::cards::without};
  for (const auto gpus : {1, 2, 4, 8}) {
    const auto who = lone("new", prio(10), gpu(gpus));
    const auto whole = search_with(merged, who, settings, {});
    const auto asked = request_for(who, settings);

    const auto made = search_with(merged, who, settings, split.evaluated(asked, random));
    const auto made_blind = search_with(merged, who, settings, blind.evaluated(asked, random));

    EXPECT_EQ(what_differs(made.made, whole.made), "");
    EXPECT_EQ(what_differs(made_blind.made, whole.made), "");
    EXPECT_GT(whole.blocks, 0);
    EXPECT_EQ(made.blocks, 0) << "the answers are enough for " << gpus << " GPUs";
    EXPECT_LE(made.nodes, whole.nodes);
    EXPECT_LE(made_blind.nodes, whole.nodes);
    EXPECT_LT(made.nodes, 20);
  }
}

TEST(evaluation_effort, a_shard_lists_the_most_promising_of_all_its_nodes) {
  std::mt19937_64 random{2};
  const auto view = full_of_groups(400, random).view();
  const auto who = lone("new", prio(10), gpu(2));
  auto settings = open_settings();
  settings.explained = depth::chosen;
  const problem given{view, who, settings};
  std::vector<node_prospect> all;
  for (node_row n = 0; n < view.node_rows(); ++n)
    all.push_back({std::string(view.node_name(n)), *bound_on_node(given, n)});
  std::ranges::sort(
    all, [](const auto& a, const auto& b) { return comes_before(a, b, minimise::pods); });

  for (const std::size_t most : {0, 1, 32, 399, 400, 500}) {
    const auto answer = evaluate(view, request_for(who, settings, most));

    EXPECT_EQ(answer.nodes, 400U);
    EXPECT_EQ(answer.listed,
              (std::vector<node_prospect>{all.begin(), all.begin() + std::min(most, all.size())}));
    EXPECT_EQ(answer.rest, most < all.size() ? std::optional{all[most]} : std::nullopt);
  }
}

TEST(evaluation_effort, of_a_gang_only_domains_are_tried_that_may_be_best) {
  const auto in_rack = [](const char* rack) { return label{"rack", rack}; };
  const auto in = cluster()
                    .node("n1", gpu(4), in_rack("a"))
                    .running("too-important", prio(20), gpu(4))
                    .node("n2", gpu(4), in_rack("b"))
                    .running("important", prio(5), gpu(4))
                    .node("n3", gpu(4), in_rack("c"))
                    .running("cheap", prio(1), gpu(4))
                    .node("n4", gpu(4), in_rack("d"))
                    .running("cheap-too", prio(1), gpu(4));
  const auto merged = in.view();
  const auto who = gang("new", prio(10), members(2, gpu(2)), within{{"rack"}});
  auto settings = open_settings();
  settings.explained = depth::summary;
  std::mt19937_64 random{1};
  const sharded_cluster split{in, merged, 2, random};

  const auto whole = search_with(merged, who, settings, {});
  const auto made =
    search_with(merged, who, settings, split.evaluated(request_for(who, settings), random));

  EXPECT_EQ(what_differs(made.made, whole.made), "");
  EXPECT_EQ(whole.nodes, 4);
  EXPECT_EQ(made.nodes, 2) << "a never fits, b costs more than c and d at best";
}

} // namespace reprieve::tests
