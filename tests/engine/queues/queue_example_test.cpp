#include "tests/support/queue_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// The worked example of kube-arbitrator's queues, table by table: 9 CPUs and 27Gi in queues of
/// weight 2, 4 and 3.
namespace reprieve::tests {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

amount gi(std::int64_t n) {
  return memory(n << 30U);
}

/// Of one queue, a table's numbers in CPUs and Gi.
struct pair_of_amounts {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;

  bool operator==(const pair_of_amounts&) const = default;
};

std::ostream& operator<<(std::ostream& out, const pair_of_amounts& p) {
  return out << "cpu: " << p.cpu << ", memory: " << p.memory << "Gi";
}

pair_of_amounts whole(const resources& from) {
  const auto cpus = amount_of(from, "cpu");
  const auto bytes = amount_of(from, "memory");
  EXPECT_EQ(cpus % 1000, 0);
  EXPECT_EQ(bytes % (std::int64_t{1} << 30U), 0);
  return {cpus / 1000, bytes >> 30U};
}

struct table {
  pair_of_amounts deserved, allocated, used, preempting;
};

void expect_table(const by_name<queue_status>& statuses, std::string_view queue,
                  const table& expected) {
  const auto* found = find(statuses, queue);
  ASSERT_NE(found, nullptr) << queue;
  EXPECT_EQ(whole(found->deserved), expected.deserved) << queue << " deserved";
  EXPECT_EQ(whole(found->allocated), expected.allocated) << queue << " allocated";
  EXPECT_EQ(whole(found->used), expected.used) << queue << " used";
  EXPECT_EQ(whole(found->preempting), expected.preempting) << queue << " preempting";
}

/// kube-arbitrator picks its victims at random. With these starts the order of
/// docs/policies.md#queues (the shorter running first) picks the same ones.
struct starts {
  started first{0}, second{0}, third{0};
};
constexpr starts as_the_document_picks_first{started{30}, started{10}, started{20}};
constexpr starts as_the_document_picks_then{started{0}, started{10}, started{20}};
constexpr starts all_alike{};

queues two_queues(const starts& of_first, const starts& of_second) {
  return queues(cpu(9), gi(27))
    .queue("queue-1", weight{2})
    .queue("queue-2", weight{4})
    .allocated("queue-1", cpu(3), gi(9))
    .allocated("queue-2", cpu(6), gi(18))
    .running("queue-1", "pod-1", cpu(2), gi(1), of_first.first)
    .running("queue-1", "pod-2", cpu(2), gi(1), of_first.second)
    .running("queue-1", "pod-3", cpu(1), gi(1), of_first.third)
    .running("queue-2", "pod-1", cpu(2), gi(1), of_second.first)
    .running("queue-2", "pod-2", cpu(2), gi(1), of_second.second)
    .running("queue-2", "pod-3", cpu(1), gi(1), of_second.third);
}

/// The queues after the preprocess example, with queue-3 coming.
queue_stage_input with_third_queue(const starts& of_first, const starts& of_second) {
  auto built = two_queues(of_first, of_second);
  const auto preprocessed = built.run();
  auto in = with_victims_gone(built.queue("queue-3", weight{3}).input(), preprocessed);
  in.previous.erase("queue-3");
  return in;
}

} // namespace

TEST(queue_example, preprocess_ends_the_overuse_of_queue_1) {
  const auto in = two_queues(as_the_document_picks_first, as_the_document_picks_then).input();

  const auto result = run_queue_stage(in);

  EXPECT_THAT(victims_in(result, "queue-1"), ElementsAre("pod-1"));
  EXPECT_THAT(victims_in(result, "queue-2"), IsEmpty());
  EXPECT_EQ(line_of(result, "queue-1", "cpu").overused, 2000);
  const auto before = statuses_of(result);
  expect_table(before, "queue-1", {{3, 9}, {3, 9}, {5, 3}, {}});
  expect_table(before, "queue-2", {{6, 18}, {6, 18}, {5, 3}, {}});
  const auto after = settle_queues(with_victims_gone(in, result));
  expect_table(after, "queue-1", {{3, 9}, {3, 9}, {3, 2}, {}});
  expect_table(after, "queue-2", {{6, 18}, {6, 18}, {5, 3}, {}});
}

TEST(queue_example, a_third_queue_changes_what_all_deserve) {
  const auto in = with_third_queue(as_the_document_picks_first, as_the_document_picks_then);

  const auto result = run_queue_stage(in);

  const auto cpus = [&](std::string_view queue) {
    const auto& line = line_of(result, queue, "cpu");
    return std::tuple{line.deserved / 1000, line.allocated_before / 1000, line.used / 1000};
  };
  const auto gis = [&](std::string_view queue) {
    const auto& line = line_of(result, queue, "memory");
    return std::tuple{line.deserved >> 30U, line.allocated_before >> 30U, line.used >> 30U};
  };
  EXPECT_EQ(cpus("queue-1"), std::tuple(2, 3, 3));
  EXPECT_EQ(gis("queue-1"), std::tuple(6, 9, 2));
  EXPECT_EQ(cpus("queue-2"), std::tuple(4, 6, 5));
  EXPECT_EQ(gis("queue-2"), std::tuple(12, 18, 3));
  EXPECT_EQ(cpus("queue-3"), std::tuple(3, 0, 0));
  EXPECT_EQ(gis("queue-3"), std::tuple(9, 0, 0));
  EXPECT_EQ(line_of(result, "queue-1", "cpu").stands, queue_case::surplus_used);
  EXPECT_EQ(line_of(result, "queue-1", "memory").stands, queue_case::surplus_unused);
  EXPECT_EQ(line_of(result, "queue-2", "cpu").stands, queue_case::surplus_used);
  EXPECT_EQ(line_of(result, "queue-2", "memory").stands, queue_case::surplus_unused);
  EXPECT_EQ(line_of(result, "queue-3", "cpu").stands, queue_case::lacking);
  EXPECT_EQ(line_of(result, "queue-3", "memory").stands, queue_case::lacking);
}

TEST(queue_example, the_preemption_stage_moves_what_is_unused_and_marks_the_rest) {
  const auto in = with_third_queue(as_the_document_picks_first, as_the_document_picks_then);

  const auto result = run_queue_stage(in);

  EXPECT_THAT(victims_in(result, "queue-1"), ElementsAre("pod-3"));
  EXPECT_THAT(victims_in(result, "queue-2"), ElementsAre("pod-3"));
  EXPECT_THAT(victims_in(result, "queue-3"), IsEmpty());
  const auto statuses = statuses_of(result);
  expect_table(statuses, "queue-1", {{2, 6}, {2, 6}, {3, 2}, {}});
  expect_table(statuses, "queue-2", {{4, 12}, {4, 12}, {5, 3}, {}});
  expect_table(statuses, "queue-3", {{3, 9}, {1, 9}, {0, 0}, {2, 0}});
}

TEST(queue_example, what_was_preempting_is_allocated_when_the_pods_have_gone) {
  const auto in = with_third_queue(as_the_document_picks_first, as_the_document_picks_then);
  const auto result = run_queue_stage(in);

  const auto leaving = settle_queues(with_victims_leaving(in, result));
  const auto gone = settle_queues(with_victims_gone(in, result));

  EXPECT_EQ(leaving, statuses_of(result));
  expect_table(gone, "queue-1", {{2, 6}, {2, 6}, {2, 1}, {}});
  expect_table(gone, "queue-2", {{4, 12}, {4, 12}, {4, 2}, {}});
  expect_table(gone, "queue-3", {{3, 9}, {3, 9}, {0, 0}, {0, 0}});
}

/// Where all pods are alike, names decide. Preprocess still picks pod-1; later the larger pod of
/// either queue comes first by name, so that these use 1 CPU less in the end than in its document.
/// All else is the same: the spare CPU is still allocated to its queue.
TEST(queue_example, only_the_victims_and_what_they_used_differ_where_names_decide) {
  const auto in = with_third_queue(all_alike, all_alike);
  EXPECT_EQ(in.pods.size(), 5u);
  EXPECT_EQ(in.pods.front().portion.workload, "pod-2");

  const auto result = run_queue_stage(in);
  const auto gone = settle_queues(with_victims_gone(in, result));

  EXPECT_THAT(victims_in(result, "queue-1"), ElementsAre("pod-2"));
  EXPECT_THAT(victims_in(result, "queue-2"), ElementsAre("pod-1"));
  const auto statuses = statuses_of(result);
  expect_table(statuses, "queue-1", {{2, 6}, {2, 6}, {3, 2}, {}});
  expect_table(statuses, "queue-2", {{4, 12}, {4, 12}, {5, 3}, {}});
  expect_table(statuses, "queue-3", {{3, 9}, {1, 9}, {0, 0}, {2, 0}});
  expect_table(gone, "queue-1", {{2, 6}, {2, 6}, {1, 1}, {}});
  expect_table(gone, "queue-2", {{4, 12}, {4, 12}, {3, 2}, {}});
  expect_table(gone, "queue-3", {{3, 9}, {3, 9}, {0, 0}, {0, 0}});
}

} // namespace reprieve::tests
