#include "state/admission/access_rules.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace reprieve {

namespace {

constexpr std::array roles{caller_role::none, caller_role::viewer, caller_role::submitter,
                           caller_role::cluster_operator, caller_role::admin};
constexpr std::array calls{api_call::apply,  api_call::get,     api_call::describe,
                           api_call::remove, api_call::explain, api_call::heartbeat,
                           api_call::events, api_call::backup,  api_call::snapshot};
constexpr std::array kinds{object_kind::node,
                           object_kind::queue,
                           object_kind::priority_class,
                           object_kind::resource_group,
                           object_kind::workload,
                           object_kind::placement,
                           object_kind::disruption_budget,
                           object_kind::pod};

caller somebody(caller_role role) {
  caller who{"sam", role};
  if (role == caller_role::submitter)
    who.queues = {"train", "eval"};
  return who;
}

touched_object an_object(object_kind kind, std::string queue = "train") {
  return {kind, "x", kind == object_kind::workload ? std::move(queue) : std::string{}};
}

bool may_send_heartbeats(caller_role role) {
  return role == caller_role::cluster_operator || role == caller_role::admin;
}

/// The rules once more, as a table: the kinds that each role may change.
std::set<object_kind> changeable_by(caller_role role) {
  switch (role) {
  case caller_role::none:
  case caller_role::viewer:
    return {};
  case caller_role::submitter:
    return {object_kind::workload};
  case caller_role::cluster_operator:
    return {object_kind::node, object_kind::queue, object_kind::priority_class,
            object_kind::resource_group, object_kind::disruption_budget};
  case caller_role::admin:
    break;
  }
  return {kinds.begin(), kinds.end()};
}

TEST(access_rules, each_role_may_make_each_call_on_each_kind_as_the_table_says) {
  for (const auto role : roles)
    for (const auto call : calls)
      for (const auto kind : kinds) {
        const bool changes = call == api_call::apply || call == api_call::remove;
        const bool for_admins = call == api_call::backup || call == api_call::snapshot;
        const bool expected = changes                       ? changeable_by(role).contains(kind)
                              : call == api_call::heartbeat ? may_send_heartbeats(role)
                              : for_admins                  ? role == caller_role::admin
                                                            : role != caller_role::none;
        const std::array objects{an_object(kind)};
        const auto allowed = check_access(somebody(role), call, objects);
        EXPECT_EQ(allowed.ok(), expected)
          << to_string(role) << " " << to_string(call) << " " << to_string(kind) << ": " << allowed;
        if (!expected) {
          EXPECT_TRUE(absl::IsPermissionDenied(allowed));
          EXPECT_NE(allowed.message().find("that needs"), absl::string_view::npos) << allowed;
        }
      }
}

TEST(access_rules, a_submitter_has_its_own_queues_only) {
  const auto sam = somebody(caller_role::submitter);
  for (const auto call : {api_call::apply, api_call::remove}) {
    EXPECT_TRUE(check_access(sam, call, std::array{an_object(object_kind::workload, "eval")}).ok());
    const auto refused =
      check_access(sam, call, std::array{an_object(object_kind::workload, "prod")});
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  }
}

TEST(access_rules, one_forbidden_object_among_others_refuses_the_call) {
  const auto sam = somebody(caller_role::submitter);
  const std::array objects{an_object(object_kind::workload), an_object(object_kind::node),
                           an_object(object_kind::workload)};
  EXPECT_TRUE(absl::IsPermissionDenied(check_access(sam, api_call::apply, objects)));
}

TEST(access_rules, every_queue_is_a_star) {
  const caller sam{"sam", caller_role::submitter, {"*"}};
  EXPECT_TRUE(
    check_access(sam, api_call::apply, std::array{an_object(object_kind::workload, "any")}).ok());
  EXPECT_FALSE(check_access(sam, api_call::apply, std::array{an_object(object_kind::queue)}).ok());
}

TEST(access_rules, a_viewer_may_not_even_change_nothing) {
  EXPECT_FALSE(check_access(somebody(caller_role::viewer), api_call::apply, {}).ok());
  EXPECT_TRUE(check_access(somebody(caller_role::submitter), api_call::apply, {}).ok());
}

TEST(access_rules, heartbeats_come_from_those_who_look_after_the_machines) {
  for (const auto role : roles)
    EXPECT_EQ(check_access(somebody(role), api_call::heartbeat, {}).ok(), may_send_heartbeats(role))
      << to_string(role);
  EXPECT_EQ(check_access(somebody(caller_role::viewer), api_call::heartbeat, {}).message(),
            "sam (viewer) may not call Heartbeat; that needs the role operator or admin");
}

TEST(access_rules, only_an_admin_takes_the_whole_store_away) {
  for (const auto role : roles)
    EXPECT_EQ(check_access(somebody(role), api_call::backup, {}).ok(), role == caller_role::admin)
      << to_string(role);
  EXPECT_EQ(check_access(somebody(caller_role::cluster_operator), api_call::backup, {}).message(),
            "sam (operator) may not call Backup; that needs the role admin");
}

TEST(access_rules, a_refusal_names_the_caller_the_object_and_the_missing_right) {
  EXPECT_EQ(
    check_access(somebody(caller_role::submitter), api_call::apply,
                 std::array{an_object(object_kind::workload, "prod")})
      .message(),
    "sam (submitter of train, eval) may not apply Workload 'x' in queue prod; that needs the "
    "role submitter of queue prod, or admin");
  EXPECT_EQ(check_access(somebody(caller_role::viewer), api_call::remove,
                         std::array{an_object(object_kind::node)})
              .message(),
            "sam (viewer) may not delete Node 'x'; that needs the role operator or admin");
}

TEST(access_rules, requests_tell_what_they_touch) {
  workload w;
  w.name = "job";
  w.queue = "train";
  node n;
  n.name = "n1";
  const auto asked = asked_by(apply_request{{w, n}, false});
  EXPECT_EQ(asked.what, api_call::apply);
  EXPECT_TRUE(asked.changes);
  const std::vector<touched_object> expected{{object_kind::workload, "job", "train"},
                                             {object_kind::node, "n1"}};
  EXPECT_EQ(asked.objects, expected);
  EXPECT_FALSE(asked_by(apply_request{{w}, true}).changes);
  const auto removed = asked_by(delete_request{object_kind::workload, {"a", "b"}});
  EXPECT_EQ(removed.what, api_call::remove);
  EXPECT_TRUE(removed.changes);
  EXPECT_EQ(removed.objects.size(), 2U);
  EXPECT_FALSE(asked_by(get_request{}).changes);
}

TEST(access_rules, roles_have_the_names_that_files_give_them) {
  for (const auto role : roles)
    EXPECT_EQ(role_from(to_string(role)), role);
  EXPECT_EQ(role_from("root"), std::nullopt);
  EXPECT_EQ(to_string(caller_role::cluster_operator), "operator");
}

} // namespace

} // namespace reprieve
