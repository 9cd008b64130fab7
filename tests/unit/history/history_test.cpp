#include "tests/support/history.hpp"
#include "tests/unit/history/history_script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace reprieve {

namespace {

using outcome = apply_outcome;

std::string accounts_of(const history_verdict& verdict) {
  std::string text;
  for (const auto& one : verdict.anomalies)
    text += one.account;
  for (const auto& one : verdict.undecided)
    text += one + " is undecided\n";
  return text;
}

void expect_explained(const script& told) {
  const auto verdict = check_history(told.calls);
  EXPECT_TRUE(verdict.explained()) << accounts_of(verdict);
}

/// No order explains the answer of the call that ended at that time, and of none before.
void expect_unexplained(const script& told, int ended) {
  const auto verdict = check_history(told.calls);
  ASSERT_EQ(verdict.anomalies.size(), 1U);
  const auto& found = verdict.anomalies.front();
  EXPECT_EQ(found.calls[found.culprit].returned, std::chrono::milliseconds{ended}) << found.account;
}

TEST(history, of_one_call_after_the_other_is_explained_when_each_answer_is_true) {
  expect_explained(script()
                     .get(1, {0, 1}, call_end::not_found)
                     .remove(1, {2, 3}, call_end::not_found)
                     .submit(1, {4, 5}, 2, outcome::created)
                     .get(1, {6, 7}, sight("u1", 1, 2))
                     .scale(1, {8, 9}, 3, outcome::configured)
                     .scale(1, {10, 11}, 3, outcome::unchanged)
                     .get(1, {12, 13}, sight("u1", 2, 3))
                     .remove(1, {14, 15})
                     .get(1, {16, 17}, call_end::not_found)
                     .submit(1, {18, 19}, 2, outcome::created)
                     .get(1, {20, 21}, sight("u2", 1, 2)));
}

TEST(history, of_calls_at_the_same_time_is_explained_by_any_order) {
  for (const auto count : {2, 3})
    expect_explained(
      script().submit(1, {0, 10}, 2).submit(2, {0, 10}, 3).get(3, {12, 13}, sight("u1", 2, count)));
  expect_explained(script()
                     .submit(1, {0, 10}, 2)
                     .get(2, {1, 2}, call_end::not_found)
                     .get(2, {3, 4}, sight("u", 1, 2)));
  expect_unexplained(script()
                       .submit(1, {0, 10}, 2)
                       .get(2, {1, 2}, sight("u", 1, 2))
                       .get(2, {3, 4}, call_end::not_found),
                     4);
}

TEST(history, with_a_lost_update_is_not_explained) {
  expect_unexplained(script()
                       .submit(1, {0, 1}, 1)
                       .scale(1, {2, 3}, 2)
                       .scale(2, {4, 5}, 3)
                       .get(3, {6, 7}, sight("u", 2, 2)),
                     7);
  // Both are acknowledged, in whatever order; the generation tells that one was not carried out.
  expect_unexplained(script()
                       .submit(1, {0, 1}, 1)
                       .scale(1, {2, 9}, 2)
                       .scale(2, {2, 9}, 3)
                       .get(3, {10, 11}, sight("u", 2, 3)),
                     11);
}

TEST(history, with_a_stale_read_after_an_acknowledged_write_is_not_explained) {
  expect_unexplained(
    script().submit(1, {0, 1}, 1).scale(1, {2, 3}, 2).get(2, {4, 5}, sight("u", 1, 1)), 5);
  // While the write is under way, the old and the new are both true.
  expect_explained(
    script().submit(1, {0, 1}, 1).scale(1, {2, 8}, 2).get(2, {4, 5}, sight("u", 1, 1)));
  // Once somebody has seen the new, nobody sees the old any more.
  expect_unexplained(script()
                       .submit(1, {0, 1}, 1)
                       .scale(1, {2, 20}, 2)
                       .get(2, {4, 5}, sight("u", 2, 2))
                       .get(3, {6, 7}, sight("u", 1, 1)),
                     7);
}

TEST(history, with_an_acknowledged_submit_that_is_not_there_is_not_explained) {
  expect_unexplained(script().submit(1, {0, 1}, 1).get(2, {2, 3}, call_end::not_found), 3);
  expect_unexplained(script().submit(1, {0, 1}, 1).remove(2, {2, 3}, call_end::not_found), 3);
}

TEST(history, of_a_deletion_takes_its_time) {
  expect_explained(script()
                     .submit(1, {0, 1}, 1)
                     .remove(1, {2, 3})
                     .get(2, {4, 5}, sight("u", 1, 1))
                     .submit(2, {6, 7}, 4, call_end::being_deleted)
                     .remove(2, {8, 9})
                     .get(2, {10, 11}, call_end::not_found)
                     .submit(2, {12, 13}, 4, outcome::created));
  expect_explained(
    script().submit(1, {0, 1}, 1).remove(1, {2, 3}).submit(1, {4, 5}, 1, outcome::created));
}

TEST(history, with_a_resurrection_after_a_deletion_is_not_explained) {
  expect_unexplained(script()
                       .submit(1, {0, 1}, 1)
                       .remove(1, {2, 3})
                       .get(2, {4, 5}, call_end::not_found)
                       .get(3, {6, 7}, sight("u", 1, 1)),
                     7);
  // Nor is it when another one has taken its place.
  expect_unexplained(script()
                       .submit(1, {0, 1}, 1)
                       .get(1, {2, 3}, sight("u1", 1, 1))
                       .remove(1, {4, 5})
                       .submit(1, {6, 7}, 1, outcome::created)
                       .get(3, {8, 9}, sight("u1", 1, 1)),
                     9);
  expect_unexplained(script()
                       .submit(1, {0, 1}, 1)
                       .get(1, {2, 3}, sight("u1", 1, 1))
                       .get(1, {4, 5}, sight("u2", 1, 1)),
                     5);
}

TEST(history, where_nobody_deletes_and_yet_it_is_being_deleted_is_not_explained) {
  expect_unexplained(script().submit(1, {0, 1}, 1).submit(1, {2, 3}, 1, call_end::being_deleted),
                     3);
}

TEST(history, with_a_write_of_unknown_end_that_appears_late_is_explained) {
  expect_explained(script()
                     .submit(1, {0, 1}, 1)
                     .scale(1, {2, 3}, 5, call_end::unknown)
                     .get(2, {10, 11}, sight("u", 1, 1))
                     .get(2, {1000, 1001}, sight("u", 1, 1))
                     .get(2, {5000, 5001}, sight("u", 2, 5)));
  expect_explained(script()
                     .submit(1, {0, 1}, 1, call_end::unknown)
                     .get(2, {10, 11}, call_end::not_found)
                     .remove(2, {20, 21}, call_end::not_found)
                     .get(2, {5000, 5001}, sight("u", 1, 1)));
}

TEST(history, with_a_write_of_unknown_end_that_never_appears_is_explained) {
  expect_explained(script()
                     .submit(1, {0, 1}, 1)
                     .scale(1, {2, 3}, 5, call_end::unknown)
                     .remove(1, {4, 5}, call_end::unknown)
                     .get(2, {1000, 1001}, sight("u", 1, 1)));
}

TEST(history, with_a_write_of_unknown_end_that_appears_and_disappears_is_not_explained) {
  expect_unexplained(script()
                       .submit(1, {0, 1}, 1)
                       .scale(1, {2, 3}, 5, call_end::unknown)
                       .get(2, {10, 11}, sight("u", 2, 5))
                       .get(2, {20, 21}, sight("u", 1, 1)),
                     21);
  expect_unexplained(script()
                       .submit(1, {0, 1}, 1, call_end::unknown)
                       .get(2, {10, 11}, sight("u", 1, 1))
                       .get(2, {20, 21}, call_end::not_found),
                     21);
}

TEST(history, with_a_write_of_unknown_end_that_happens_twice_is_not_explained) {
  expect_unexplained(script()
                       .submit(1, {0, 1}, 1)
                       .scale(1, {2, 3}, 5, call_end::unknown)
                       .get(2, {10, 11}, sight("u", 2, 5))
                       .scale(2, {12, 13}, 1)
                       .get(2, {20, 21}, sight("u", 4, 5)),
                     21);
  // Two of them may happen, and in any order.
  expect_explained(script()
                     .submit(1, {0, 1}, 1)
                     .scale(1, {2, 3}, 5, call_end::unknown)
                     .scale(3, {2, 3}, 5, call_end::unknown)
                     .get(2, {10, 11}, sight("u", 2, 5))
                     .scale(2, {12, 13}, 1)
                     .get(2, {20, 21}, sight("u", 4, 5)));
}

TEST(history, with_an_effect_before_its_cause_is_not_explained) {
  expect_unexplained(script().get(1, {0, 1}, sight("u", 1, 1)).submit(2, {2, 3}, 1), 1);
}

TEST(history, in_which_two_have_created_the_same_is_explained_only_if_nobody_said_so) {
  expect_unexplained(
    script().submit(1, {0, 9}, 1, outcome::created).submit(2, {1, 8}, 2, outcome::created), 9);
  expect_explained(script().submit(1, {0, 9}, 1).submit(2, {1, 8}, 2, outcome::created));
}

TEST(history, takes_no_notice_of_calls_that_were_refused_or_of_reads_without_an_answer) {
  expect_explained(script()
                     .submit(1, {0, 1}, 7, call_end::refused)
                     .get(1, {2, 3}, call_end::unknown)
                     .get(1, {4, 5}, call_end::not_found));
}

TEST(history, of_each_workload_is_looked_at_by_itself) {
  auto told = script().submit(1, {0, 1}, 1).get(2, {2, 3}, sight("u", 1, 1));
  ASSERT_TRUE(check_history(told.calls).explained());
  told.calls.back().workload = "other";
  const auto verdict = check_history(told.calls);
  ASSERT_EQ(verdict.anomalies.size(), 1U);
  EXPECT_EQ(verdict.anomalies.front().workload, "other");
}

TEST(history, that_can_not_be_explained_is_told_up_to_the_answer_that_does_not_fit) {
  const auto verdict = check_history(script()
                                       .submit(1, {0, 100}, 2, outcome::created)
                                       .scale(1, {1000, 1500}, 4)
                                       .remove(3, {1100, 0}, call_end::unknown)
                                       .get(2, {1200, 2000}, sight("u1", 2, 4))
                                       .scale(4, {2100, 9000}, 6)
                                       .get(2, {2200, 2300}, sight("u1", 1, 2))
                                       .get(2, {2400, 2500}, sight("u1", 2, 4))
                                       .calls);
  ASSERT_EQ(verdict.anomalies.size(), 1U);
  const auto& found = verdict.anomalies.front();
  EXPECT_EQ(found.calls.size(), 6U);
  EXPECT_EQ(found.culprit, 5U);
  EXPECT_EQ(found.calls[4].how, call_end::unknown) << "its answer comes later";
  EXPECT_EQ(found.account,
            "workload w: no order of these calls explains the answer that is marked\n"
            "      0.000000 - 0.100000     client 1   submit {g: 2}                created\n"
            "      1.000000 - 1.500000     client 1   scale {g: 4}                 ok\n"
            "      1.100000 -              client 3   delete                       no answer\n"
            "      1.200000 - 2.000000     client 2   get                          {g: 4} of "
            "generation 2, uid u1\n"
            "      2.100000 -              client 4   scale {g: 6}                 no answer yet\n"
            ">     2.200000 - 2.300000     client 2   get                          {g: 2} of "
            "generation 1, uid u1\n"
            "  but for what has no answer yet, it could be: being deleted, {g: 4} of generation 2, "
            "uid u1; or {g: 4} of generation 2, uid u1\n");
}

TEST(history, that_is_long_is_told_from_where_it_was_certain_last) {
  script told;
  told.submit(1, {0, 1}, 1);
  for (int i = 1; i < 30; ++i)
    told.scale(1, {10 * i, 10 * i + 5}, 1 + i % 2);
  told.get(2, {1000, 1001}, sight("u", 7, 1));
  const auto account = check_history(told.calls).anomalies.at(0).account;
  EXPECT_NE(account.find("  22 calls are left out, after which it was {g: 2} of generation 22\n"),
            std::string::npos)
    << account;
  EXPECT_EQ(std::count(account.begin(), account.end(), '\n'), 1 + 1 + 8 + 1 + 1) << account;
}

TEST(history, with_more_possibilities_than_may_be_looked_at_is_undecided) {
  script told;
  told.submit(1, {0, 1}, 1);
  for (int i = 0; i < 12; ++i)
    told.scale(i, {2, 3}, 10 + i, call_end::unknown);
  told.get(1, {4, 5}, sight("u", 100, 1));
  const auto verdict = check_history(told.calls, {.effort = 1000});
  EXPECT_TRUE(verdict.anomalies.empty());
  EXPECT_EQ(verdict.undecided, std::vector<std::string>{"w"});
  EXPECT_FALSE(check_history(told.calls).anomalies.empty());
}

TEST(history, has_effects_of_calls_without_an_answer_only_as_long_as_they_may_come) {
  const auto told = script()
                      .submit(1, {0, 10}, 1, outcome::created)
                      .scale(2, {20, 0}, 2, call_end::unknown)
                      .get(1, {130, 140}, sight("u", 1, 1))
                      .get(1, {200, 210}, sight("u", 2, 2));
  using std::chrono::milliseconds;
  EXPECT_TRUE(check_history(told.calls).explained());
  EXPECT_TRUE(check_history(told.calls, {.latest_effect = milliseconds{300}}).explained());
  const auto late = check_history(told.calls, {.latest_effect = milliseconds{100}});
  ASSERT_EQ(late.anomalies.size(), 1U);
  EXPECT_EQ(late.anomalies.front().culprit, 3U);
}

TEST(history, has_effects_of_calls_without_an_answer_that_nobody_sees_until_they_can_come_no_more) {
  using std::chrono::milliseconds;
  auto told = script()
                .submit(1, {0, 10}, 1, outcome::created)
                .remove(2, {20, 0}, call_end::unknown)
                .get(1, {200, 210}, call_end::not_found);
  EXPECT_TRUE(check_history(told.calls, {.latest_effect = milliseconds{100}}).explained());
  told.get(1, {220, 230}, sight("u", 1, 1));
  EXPECT_FALSE(check_history(told.calls, {.latest_effect = milliseconds{100}}).explained());
}

TEST(history, is_taken_down_from_several_threads) {
  history_recorder recorder;
  std::vector<std::jthread> clients;
  for (int client = 0; client < 4; ++client)
    clients.emplace_back([&recorder, client] {
      const auto name = "w" + std::to_string(client);
      for (int i = 0; i < 50; ++i) {
        recorder.end(recorder.begin(client, name, workload_call::submit, {{"g", i}}), call_end::ok,
                     i == 0 ? outcome::created : outcome::configured);
        recorder.end(recorder.begin(client, name, workload_call::get),
                     workload_sight{name, i + 1, {{"g", i}}});
      }
      recorder.begin(client, name, workload_call::remove);
    });
  clients.clear();
  const auto calls = recorder.calls();
  EXPECT_EQ(calls.size(), 404U);
  for (const auto& call : calls)
    EXPECT_TRUE(call.how == call_end::unknown || call.invoked <= call.returned);
  const auto verdict = check_history(calls);
  EXPECT_TRUE(verdict.explained()) << accounts_of(verdict);
}

} // namespace

} // namespace reprieve
