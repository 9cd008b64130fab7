#include "state/admission/admission.hpp"
#include "tests/unit/admission/admission_cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace reprieve::admission_tests {

namespace {

std::string message_of(const absl::Status& status) {
  return std::string{status.message()};
}

/// What is wrong with the batch in the usual cluster, line by line.
std::vector<std::string> refusals_of(const std::vector<object>& batch, const cluster& c) {
  std::vector<std::string> lines;
  for (const auto& r : check(batch, c.known, c.facts))
    lines.push_back(to_string(r));
  return lines;
}

using lines = std::vector<std::string>;

std::vector<std::string> names_in_order(const std::vector<object>& batch, const cluster& c) {
  const auto result = admit(batch, c.known, c.facts);
  if (!result.ok())
    return {message_of(result.status())};
  std::vector<std::string> names;
  for (const auto& one : *result)
    names.push_back(name_of(one.what));
  return names;
}

/// One object of each kind; each refers to others of the batch only.
std::vector<object> a_whole_site() {
  return {
    with<placement>(a_placement("shop-east", "shop"), [](auto& p) { p.cluster = "east"; }),
    with<workload>(a_workload("shop"),
                   [](auto& w) {
                     w.kind = workload_kind::deployment;
                     w.resource_group = "east";
                     w.queue = "team";
                     w.priority_class = "urgent";
                     w.groups[0].required_node = "e1.example.com";
                   }),
    with<disruption_budget>(a_budget("keep-shop"), [](auto& b) { b.resource_group = "east"; }),
    a_node("e1.example.com", "east"),
    a_queue("team", "org", 2),
    a_limited_queue("org", 2),
    a_group("east"),
    a_class("urgent", 500)};
}

const std::vector<std::string> site_in_order{"urgent",         "east",      "org",  "team",
                                             "e1.example.com", "keep-shop", "shop", "shop-east"};

} // namespace

TEST(catalog, starts_with_system_classes_a_queue_and_a_group) {
  const auto start = initial_catalog();
  EXPECT_EQ(start.classes.at("system-node-critical").value, system_node_critical_value);
  EXPECT_EQ(start.classes.at("system-cluster-critical").value, system_cluster_critical_value);
  EXPECT_EQ(start.classes.size(), 2U);
  EXPECT_EQ(start.queues.at("default").name, "default");
  EXPECT_EQ(start.groups.at("default").name, "default");
  EXPECT_EQ(global_default(start), nullptr);
}

TEST(catalog, has_node_critical_above_cluster_critical_above_what_users_may_have) {
  const auto start = initial_catalog();
  EXPECT_GT(start.classes.at("system-node-critical").value,
            start.classes.at("system-cluster-critical").value);
  EXPECT_GT(start.classes.at("system-cluster-critical").value, highest_user_priority);
}

TEST(catalog, replaces_an_object_of_the_same_name) {
  auto known = initial_catalog();
  put_in(known, a_queue("default", "", 3));
  put_in(known, a_node("n1"));
  EXPECT_EQ(known.queues.size(), 1U);
  EXPECT_EQ(find(known.queues, "default")->guaranteed.at("gpu"), 3 * one_gpu);
  EXPECT_EQ(find(known.queues, "gone"), nullptr);
}

TEST(admission, accepts_an_empty_batch) {
  EXPECT_EQ(names_in_order({}, a_cluster()), lines{});
}

TEST(admission, accepts_what_already_exists_unchanged) {
  const auto c = a_cluster();
  std::vector<object> batch{a_node("n1"), a_node("n2", "capped")};
  for (const auto& [name, entry] : c.known.classes)
    batch.emplace_back(entry);
  for (const auto& [name, entry] : c.known.queues)
    batch.emplace_back(entry);
  for (const auto& [name, entry] : c.known.groups)
    batch.emplace_back(entry);
  for (const auto& [name, entry] : c.facts.workloads)
    batch.emplace_back(entry);
  EXPECT_EQ(refusals_of(batch, c), lines{});
}

TEST(admission, accepts_the_edges_of_what_is_allowed) {
  const auto c = a_cluster();
  const std::vector<object> batch{
    a_class("top", highest_user_priority),
    a_class("bottom", std::numeric_limits<std::int32_t>::min()),
    a_node(std::string(63, 'a')),
    with<node>(a_node("10-0-0-1.eu.example.com"),
               [](auto& n) {
                 n.labels = {{"example.com/Zone_1.a", ""}, {"rack", "A.1_b-2"}};
                 n.capacity = {{"example.com/gpu", std::int64_t{1} << 53}, {"pods", 0}};
               }),
    with<queue>(a_limited_queue("full", 4), [](auto& q) { q.guaranteed = q.limit; }),
    a_queue("speech", "research", 3),
    with<workload>(a_workload("minimal"),
                   [](auto& w) {
                     w.groups[0].min_count = w.groups[0].count = 1;
                     w.groups[0].pods.requests.clear();
                     w.grace_period = w.resume.backoff = duration::zero();
                     w.resume.limit = 0;
                   }),
    with<workload>(a_workload("wide"),
                   [](auto& w) {
                     w.groups[0].count = 1000;
                     w.groups[0].replicas = 100;
                     w.groups[0].min_count = 1000;
                     w.groups[0].disruption = disruption_mode::pod_group;
                     w.groups[0].topology_keys = {"zone", "rack"};
                     w.groups[0].protected_members = {0, 999};
                     w.groups[0].pods.tolerations = {{"", true, "", {}}, {"a", false, "b", {}}};
                   }),
    with<workload>(a_workload("daemon"),
                   [](auto& w) {
                     w.kind = workload_kind::daemon;
                     w.priority_class = "system-node-critical";
                     w.groups[0].required_node = "n1";
                   }),
    with<workload>(a_workload("both"),
                   [](auto& w) {
                     w.resource_group = "capped";
                     w.priority_class = "low";
                     w.priority = 10;
                     w.preemption_priority = 60;
                   }),
    with<workload>(a_workload("session"),
                   [](auto& w) {
                     w.resource_group = "sessions";
                     w.priority = 0;
                     w.preemption_priority = 100;
                   }),
  };
  EXPECT_EQ(refusals_of(batch, c), lines{});
}

TEST(admission, lets_size_and_preemption_priority_of_a_workload_change) {
  const auto c = a_cluster();
  auto changed = c.facts.workloads.at("train");
  changed.groups[0].count = 8;
  changed.groups[0].replicas = 3;
  changed.preemption_priority_class = "high";
  changed.grace_period = std::chrono::minutes{5};
  EXPECT_EQ(refusals_of({changed}, c), lines{});
}

TEST(admission, does_not_let_a_gang_shrink_below_its_min_count) {
  const auto c = a_cluster();
  auto changed = c.facts.workloads.at("train");
  changed.groups[0].count = 1;
  EXPECT_EQ(refusals_of({changed}, c),
            lines{"Workload 'train': spec.podGroups[0].minCount is 2; it must be 1 to the group's "
                  "count, 1"});
}

TEST(admission, keeps_the_priority_of_a_running_workload_when_its_group_gets_another_scale) {
  auto c = a_cluster();
  c.known.groups.at("default").policy = group_policy::sessions;
  auto& status = c.facts.statuses.at("train");
  status.resolved = {1000, 1000, true};
  EXPECT_EQ(refusals_of({c.facts.workloads.at("train")}, c), lines{});
}

TEST(admission, refuses_a_session_that_the_global_default_puts_off_the_scale) {
  auto c = a_cluster();
  c.known.classes.at("high").global_default = true;
  auto session = a_workload("new");
  session.resource_group = "sessions";
  EXPECT_EQ(refusals_of({session}, c),
            lines{"Workload 'new': spec.priority is not given, and the global default, class "
                  "'high', makes the priority 1000; in resource group 'sessions', with the "
                  "sessions policy, it must be 0 to 100"});
  session.priority = 7;
  EXPECT_EQ(refusals_of({session}, c), lines{});
}

namespace {

workload deployment_of_two_groups(const std::string& name) {
  auto w = a_workload(name);
  w.kind = workload_kind::deployment;
  w.groups.push_back(w.groups[0]);
  w.groups[1].name = "more";
  return w;
}

} // namespace

TEST(admission, lets_a_deployment_have_one_pod_group_where_the_policy_is_lifecycle) {
  auto c = a_cluster();
  const auto two = deployment_of_two_groups("new");
  EXPECT_EQ(refusals_of({two}, c), lines{});

  c.known.groups.at("default").policy = group_policy::lifecycle;
  EXPECT_EQ(refusals_of({two}, c),
            lines{"Workload 'new': spec.podGroups has 2 groups; a deployment in resource group "
                  "'default', with the lifecycle policy, has exactly one"});
  auto one = two;
  one.groups.resize(1);
  EXPECT_EQ(refusals_of({one}, c), lines{});
  auto batch = two;
  batch.kind = workload_kind::batch;
  EXPECT_EQ(refusals_of({batch}, c), lines{}) << "other kinds go by pods";
}

TEST(admission, keeps_a_deployment_of_two_groups_when_its_resource_group_becomes_lifecycle) {
  auto c = a_cluster();
  auto& known = c.facts.workloads.at("train");
  const auto queue = known.queue;
  known = deployment_of_two_groups("train");
  known.queue = queue;
  c.known.groups.at("default").policy = group_policy::lifecycle;
  EXPECT_EQ(refusals_of({known}, c), lines{});
}

TEST(admission, says_the_first_refusal_and_how_many_more) {
  const auto c = a_cluster();
  const std::vector<object> batch{a_queue("ok"), a_queue("Bad"), pod{}};
  const auto result = admit(batch, c.known, c.facts);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(message_of(result.status()),
            "Queue 'Bad': metadata.name is 'Bad'; it must be 1 to 63 of a-z, 0-9 and '-', with no "
            "'-' at either end (and 1 more)");
}

TEST(admission, keeps_messages_on_one_line_and_whole_characters) {
  const auto c = a_cluster();
  const auto with_key = with<node>(a_node("new"), [](auto& n) { n.labels["a\nb"] = "a b"; });
  for (const auto& line : refusals_of({with_key, a_queue("a\n", "b\n"), a_queue("b\n", "a\n")}, c))
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  std::string umlauts = "x";
  for (int i = 0; i < 50; ++i)
    umlauts += "ä";
  EXPECT_NE(refusals_of({a_queue(umlauts)}, c).at(0).find("ä…'"), std::string::npos);
}

TEST(admission, reports_every_field_that_is_wrong) {
  const auto c = a_cluster();
  auto w = a_workload("new");
  w.queue = "gone";
  w.groups[0].min_count = 9;
  w.priority_class = "gone";
  EXPECT_EQ(refusals_of({w}, c).size(), 3U);
}

TEST(admission, orders_objects_so_that_each_comes_after_what_it_refers_to) {
  EXPECT_EQ(names_in_order(a_whole_site(), a_cluster()), site_in_order);
}

TEST(admission, gives_the_same_result_for_every_order_of_the_batch) {
  const auto c = a_cluster();
  const auto site = a_whole_site();
  const auto expected = admit(site, c.known, c.facts);
  ASSERT_TRUE(expected.ok()) << expected.status();
  std::vector<std::size_t> order(site.size());
  std::iota(order.begin(), order.end(), 0U);
  do {
    std::vector<object> batch;
    for (const auto i : order)
      batch.push_back(site[i]);
    const auto result = admit(batch, c.known, c.facts);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(*result, *expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(admission, finds_the_same_faults_for_every_order_of_the_batch) {
  const auto c = a_cluster();
  const std::vector<object> broken{
    a_queue("a", "b"),
    a_queue("b", "a"),
    a_queue("below", "a"),
    a_class("first", 1, true),
    a_class("second", 2, true),
    with<workload>(a_workload("new"), [](auto& w) { w.groups[0].required_node = "n9"; })};
  auto expected = refusals_of(broken, c);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(expected.size(), 5U);
  std::vector<std::size_t> order(broken.size());
  std::iota(order.begin(), order.end(), 0U);
  do {
    std::vector<object> batch;
    for (const auto i : order)
      batch.push_back(broken[i]);
    auto found = refusals_of(batch, c);
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(admission, refuses_both_of_two_global_defaults_in_a_batch) {
  EXPECT_EQ(refusals_of({a_class("first", 1, true), a_class("second", 2, true)}, a_cluster()),
            (lines{"PriorityClass 'first': globalDefault is true, but 'second' is the global "
                   "default; only one class may be",
                   "PriorityClass 'second': globalDefault is true, but 'first' is the global "
                   "default; only one class may be"}));
}

TEST(admission, refuses_a_second_global_default) {
  auto c = a_cluster();
  c.known.classes.at("low").global_default = true;
  EXPECT_EQ(refusals_of({a_class("first", 1, true)}, c),
            lines{"PriorityClass 'first': globalDefault is true, but 'low' is the global "
                  "default; only one class may be"});
}

TEST(admission, moves_the_global_default_in_one_batch) {
  auto c = a_cluster();
  c.known.classes.at("low").global_default = true;
  EXPECT_EQ(names_in_order({a_class("first", 1, true), a_class("low", 10)}, c),
            (lines{"low", "first"}));
}

TEST(admission, refuses_only_the_members_of_a_cycle_of_queues) {
  EXPECT_EQ(
    refusals_of({a_queue("below", "a"), a_queue("a", "b"), a_queue("b", "a")}, a_cluster()),
    (lines{"Queue 'a': spec.parent is 'b', which makes a cycle: a -> b -> a; one of these must "
           "be at the top",
           "Queue 'b': spec.parent is 'a', which makes a cycle: b -> a -> b; one of these must "
           "be at the top"}));
}

TEST(admission, turns_a_tree_of_queues_over_in_one_batch) {
  EXPECT_EQ(names_in_order({a_queue("research", "vision"), a_queue("vision")}, a_cluster()),
            (lines{"vision", "research"}));
}

TEST(admission, allows_sixty_four_levels_of_queues_above_one) {
  std::vector<object> chain{a_queue("q0")};
  for (int i = 1; i <= 64; ++i)
    chain.emplace_back(a_queue("q" + std::to_string(i), "q" + std::to_string(i - 1)));
  EXPECT_EQ(refusals_of(chain, a_cluster()), lines{});
  chain.emplace_back(a_queue("q65", "q64"));
  EXPECT_EQ(refusals_of(chain, a_cluster()),
            lines{"Queue 'q65': spec.parent is 'q64', which puts more than 64 queues above this "
                  "one; move it up"});
}

TEST(admission, allows_no_more_levels_where_others_move_with_a_queue) {
  std::vector<object> chain{a_queue("q0"), a_queue("top"), a_queue("mid", "top")};
  for (int i = 1; i <= 63; ++i)
    chain.emplace_back(a_queue("q" + std::to_string(i), "q" + std::to_string(i - 1)));
  auto c = a_cluster();
  for (const auto& one : chain)
    put_in(c.known, one);
  EXPECT_EQ(refusals_of({a_queue("q0", "top")}, c), lines{});
  EXPECT_EQ(refusals_of({a_queue("q0", "mid")}, c),
            lines{"Queue 'q0': spec.parent is 'mid', which puts more than 64 queues above one that "
                  "is below this one; move it up"});
}

TEST(admission, counts_the_guarantees_of_a_whole_batch_against_the_parents_limit) {
  const auto c = a_cluster();
  EXPECT_EQ(refusals_of({a_queue("speech", "research", 4), a_queue("vision", "research", 4)}, c),
            lines{});
  EXPECT_EQ(
    refusals_of({a_queue("speech", "research", 2), a_queue("text", "research", 2)}, c).size(), 2U);
  EXPECT_EQ(refusals_of({a_queue("speech", "research", 4), a_limited_queue("research", 9)}, c),
            lines{});
}

TEST(admission, judges_a_required_node_by_the_batch_before_the_cluster) {
  const auto c = a_cluster();
  const auto w = with<workload>(a_workload("new"), [](auto& each) {
    each.resource_group = "capped";
    each.groups[0].required_node = "n3";
  });
  EXPECT_EQ(refusals_of({w, a_node("n3", "capped")}, c), lines{});
  EXPECT_EQ(refusals_of({w, a_node("n3")}, c),
            lines{"Workload 'new': spec.podGroups[0].requiredNode is 'n3', a node of resource "
                  "group 'default'; it must be one of the workload's group, 'capped'"});
}

TEST(removal, is_refused_for_what_is_there_from_the_start) {
  const auto c = a_cluster();
  for (const auto& [kind, name] :
       {std::pair{object_kind::queue, "default"}, std::pair{object_kind::resource_group, "default"},
        std::pair{object_kind::priority_class, "system-node-critical"},
        std::pair{object_kind::priority_class, "system-cluster-critical"}}) {
    const auto status = admit_removal(kind, name, c.known, c.facts);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_NE(message_of(status).find("there from the start"), std::string::npos) << status;
  }
}

TEST(removal, is_refused_for_a_queue_with_queues_below_it) {
  const auto c = a_cluster();
  EXPECT_EQ(message_of(admit_removal(object_kind::queue, "research", c.known, c.facts)),
            "Queue 'research' is in use by Queue 'vision'; remove or change that first");
}

TEST(removal, is_allowed_for_a_queue_that_goes_with_all_below_it) {
  const auto c = a_cluster();
  const std::vector<std::string> both{"research", "vision"};
  EXPECT_TRUE(admit_removals(object_kind::queue, both, c.known, c.facts).ok());
  const std::vector<std::string> with_another{"research", "vision", "gone"};
  EXPECT_EQ(admit_removals(object_kind::queue, with_another, c.known, c.facts).code(),
            absl::StatusCode::kNotFound);
}

TEST(removal, is_refused_for_what_others_use) {
  auto c = a_cluster();
  c.facts.users = {{{object_kind::queue, "vision"}, {object_kind::workload, "train"}},
                   {{object_kind::resource_group, "capped"}, {object_kind::node, "n2"}},
                   {{object_kind::priority_class, "low"}, {object_kind::workload, "train"}},
                   {{object_kind::workload, "web"}, {object_kind::placement, "web-east"}}};
  for (const auto& [used, user] : c.facts.users) {
    const auto status = admit_removal(used.first, used.second, c.known, c.facts);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << used.second;
    EXPECT_NE(message_of(status).find("'" + user.name + "'"), std::string::npos) << status;
  }
}

TEST(removal, is_refused_for_what_does_not_exist) {
  const auto c = a_cluster();
  for (const auto kind : {object_kind::node, object_kind::queue, object_kind::priority_class,
                          object_kind::resource_group, object_kind::workload})
    EXPECT_EQ(admit_removal(kind, "gone", c.known, c.facts).code(), absl::StatusCode::kNotFound)
      << to_string(kind);
}

TEST(removal, is_refused_for_a_pod) {
  const auto c = a_cluster();
  EXPECT_EQ(message_of(admit_removal(object_kind::pod, "p", c.known, c.facts)),
            "Pod 'p' can't be removed by itself; remove or scale its workload");
}

TEST(removal, is_allowed_for_what_nobody_uses) {
  const auto c = a_cluster();
  for (const auto& [kind, name] :
       {std::pair{object_kind::node, "n1"}, std::pair{object_kind::queue, "vision"},
        std::pair{object_kind::priority_class, "high"},
        std::pair{object_kind::resource_group, "capped"}, std::pair{object_kind::workload, "train"},
        std::pair{object_kind::placement, "web-east"},
        std::pair{object_kind::disruption_budget, "keep-web"}})
    EXPECT_TRUE(admit_removal(kind, name, c.known, c.facts).ok()) << name;
}

} // namespace reprieve::admission_tests
