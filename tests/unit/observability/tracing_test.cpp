#include "observability/traceparent.hpp"
#include "observability/tracing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

namespace {

std::atomic<std::size_t> allocations{0};

} // namespace

// Replaced for the whole program, so that a test can show what costs no allocation. Inlined, they
// would look to the compiler as if `free` met what `new` gave.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* room = operator new(size, std::nothrow))
    return room;
  throw std::bad_alloc();
}

[[gnu::noinline]] void operator delete(void* room) noexcept {
  std::free(room);
}

[[gnu::noinline]] void operator delete(void* room, std::size_t) noexcept {
  std::free(room);
}

namespace reprieve {
namespace {

using std::chrono::system_clock;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Pair;
using testing::SizeIs;
using exporter = tracing_options::exporter;

const trace_context from_outside{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                 "vendor=opaque"};

/// Tracing into memory for as long as a test runs.
class tracing : public testing::Test {
protected:
  void SetUp() override {
    restart({.to = exporter::memory});
  }

  void TearDown() override {
    stop_tracing();
  }

  static void restart(const tracing_options& options) {
    stop_tracing();
    const auto started = start_tracing(options);
    ASSERT_TRUE(started.ok()) << started;
  }

  static finished_span only_span() {
    auto ended = take_finished_spans();
    EXPECT_THAT(ended, SizeIs(1));
    return ended.empty() ? finished_span{} : ended.front();
  }
};

TEST_F(tracing, begins_a_new_trace_without_a_parent) {
  start_span("a").end();
  start_span("b").end();

  const auto ended = take_finished_spans();
  ASSERT_THAT(ended, SizeIs(2));
  EXPECT_EQ(ended[0].name, "a");
  EXPECT_THAT(ended[0].parent_id, IsEmpty());
  EXPECT_NE(ended[0].trace_id, ended[1].trace_id);
}

TEST_F(tracing, puts_a_child_into_its_parents_trace) {
  auto parent = start_span("parent");
  start_span("child", parent.context()).end();
  parent.end();

  const auto ended = take_finished_spans();
  ASSERT_THAT(ended, SizeIs(2));
  EXPECT_EQ(ended[0].name, "child");
  EXPECT_EQ(ended[0].trace_id, ended[1].trace_id);
  EXPECT_EQ(ended[0].parent_id, ended[1].span_id);
  EXPECT_NE(ended[0].span_id, ended[1].span_id);
}

TEST_F(tracing, does_not_make_an_open_span_the_parent_of_the_next_on_the_thread) {
  const auto open = start_span("open");
  start_span("unrelated").end();

  EXPECT_THAT(only_span().parent_id, IsEmpty());
}

TEST_F(tracing, carries_a_trace_on_from_text_and_back_into_it) {
  auto here = start_span("here", from_outside);
  const auto context = here.context();
  here.end();

  const auto ended = only_span();
  EXPECT_EQ(ended.trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(ended.parent_id, "b7ad6b7169203331");
  EXPECT_EQ(context.traceparent, "00-" + ended.trace_id + "-" + ended.span_id + "-01");
  EXPECT_EQ(context.tracestate, "vendor=opaque");
  EXPECT_EQ(trace_id_of(context), ended.trace_id);
}

TEST_F(tracing, begins_a_new_trace_where_the_parent_is_not_valid) {
  start_span("a", {"00-garbage", "=,=,"}).end();

  const auto ended = only_span();
  EXPECT_THAT(ended.parent_id, IsEmpty());
  EXPECT_THAT(ended.trace_id, SizeIs(32));
}

TEST_F(tracing, links_to_other_traces_and_leaves_out_links_that_are_not_valid) {
  const auto other = start_span("other").context();
  take_finished_spans();
  start_span("a", {}, {other, {"nonsense", ""}, from_outside}).end();

  const auto other_parts = parse_traceparent(other.traceparent);
  ASSERT_TRUE(other_parts);
  EXPECT_THAT(
    only_span().links,
    ElementsAre(span_link{std::string(other_parts->trace_id), std::string(other_parts->span_id)},
                span_link{"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"}));
}

TEST_F(tracing, keeps_attributes_of_each_type) {
  auto a = start_span("a");
  a.set("policy", "workload-aware");
  a.set("victims", 3);
  a.set("work_lost", std::int64_t{1} << 40);
  a.set("cascades", true);
  a.end();

  EXPECT_THAT(only_span().attributes,
              ElementsAre(Pair("cascades", "true"), Pair("policy", "workload-aware"),
                          Pair("victims", "3"), Pair("work_lost", "1099511627776")));
}

TEST_F(tracing, keeps_events_with_their_time_and_attributes) {
  const time_point before = system_clock::now();
  auto a = start_span("a");
  a.event("prepared", {{"shard", "n7"}, {"vote", "yes"}});
  a.event("committed");
  a.end();
  const time_point after = system_clock::now();

  const auto events = only_span().events;
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].name, "prepared");
  EXPECT_THAT(events[0].attributes, ElementsAre(Pair("shard", "n7"), Pair("vote", "yes")));
  EXPECT_THAT(events[0].at, AllOf(Ge(before), Le(after)));
  EXPECT_EQ(events[1].name, "committed");
  EXPECT_THAT(events[1].attributes, IsEmpty());
}

TEST_F(tracing, tells_a_failed_span_from_one_that_went_well) {
  auto bad = start_span("bad");
  bad.fail("the vote was refused");
  bad.end();
  start_span("good").end();

  const auto ended = take_finished_spans();
  ASSERT_THAT(ended, SizeIs(2));
  EXPECT_TRUE(ended[0].failed);
  EXPECT_EQ(ended[0].message, "the vote was refused");
  EXPECT_FALSE(ended[1].failed);
}

TEST_F(tracing, ends_a_span_when_it_goes_away_and_only_once) {
  {
    auto a = start_span("a");
    a.end();
    a.set("late", true);
    auto moved = std::move(a);
  }
  EXPECT_THAT(only_span().attributes, IsEmpty());

  { const auto b = start_span("b"); }
  EXPECT_EQ(only_span().name, "b");
}

TEST_F(tracing, ends_the_span_that_another_is_assigned_over) {
  auto a = start_span("first");
  a = start_span("second");

  EXPECT_EQ(only_span().name, "first");
}

TEST_F(tracing, still_knows_the_context_of_a_span_that_ended) {
  auto a = start_span("a");
  const auto before = a.context();
  a.end();

  EXPECT_EQ(a.context(), before);
}

TEST_F(tracing, starts_a_span_in_the_past) {
  const time_point an_hour_ago = system_clock::now() - std::chrono::hours(1);
  start_span_at(an_hour_ago, "waiting").end();

  const auto ended = only_span();
  EXPECT_EQ(ended.start, an_hour_ago);
  EXPECT_THAT(ended.end - ended.start,
              AllOf(Ge(std::chrono::minutes(60)), Le(std::chrono::minutes(61))));
}

TEST_F(tracing, does_not_start_a_span_in_the_future) {
  start_span_at(system_clock::now() + std::chrono::hours(1), "early").end();

  const auto ended = only_span();
  EXPECT_LE(ended.start, time_point(system_clock::now()));
  EXPECT_LE(ended.start, ended.end);
}

TEST_F(tracing, lets_spans_end_on_other_threads) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t spans_each = 100;
  auto parent = start_span("parent");
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t) {
    std::vector<span> children(spans_each);
    for (auto& child : children)
      child = start_span("child", parent.context());
    running.emplace_back([children = std::move(children)]() mutable {
      for (auto& child : children) {
        start_span("grandchild", child.context()).end();
        child.end();
      }
    });
  }
  for (auto& thread : running)
    thread.join();

  const auto ended = take_finished_spans();
  EXPECT_THAT(ended, SizeIs(2 * threads * spans_each));
  const auto trace = trace_id_of(parent.context());
  for (const auto& one : ended)
    EXPECT_EQ(one.trace_id, trace);
}

TEST_F(tracing, records_nothing_of_a_trace_that_is_not_sampled) {
  restart({.to = exporter::memory, .sampled_per_mille = 0});
  auto root = start_span("root");
  start_span("child", root.context()).end();
  root.end();
  EXPECT_THAT(root.context().traceparent, testing::EndsWith("-00"));
  EXPECT_THAT(take_finished_spans(), IsEmpty());

  start_span("asked for", from_outside).end();
  EXPECT_EQ(only_span().name, "asked for");
}

TEST_F(tracing, is_not_started_twice) {
  EXPECT_EQ(start_tracing({.to = exporter::memory}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(tracing, lets_a_span_outlive_it) {
  auto late = start_span("late");
  stop_tracing();
  late.set("key", "value");
  late.end();
  EXPECT_FALSE(tracing_enabled());
}

TEST(tracing_off, passes_the_context_through) {
  ASSERT_TRUE(start_tracing({}).ok());
  EXPECT_FALSE(tracing_enabled());

  auto a = start_span("a", from_outside);
  a.set("key", "value");
  a.event("event");
  a.fail("message");
  a.end();
  EXPECT_EQ(a.context(), from_outside);
  EXPECT_EQ(span().context(), trace_context{});
  EXPECT_THAT(take_finished_spans(), IsEmpty());
}

TEST(tracing_off, allocates_nothing) {
  auto parent = from_outside;
  const auto before = allocations.load();
  {
    auto a = start_span("a");
    auto b = start_span("b", std::move(parent));
    b.set("victims", 3);
    b.event("voted");
    b.end();
  }
  EXPECT_EQ(allocations.load(), before);
}

TEST(tracing_options, refuse_a_share_outside_of_its_range) {
  const auto refused = start_tracing({.to = exporter::memory, .sampled_per_mille = 1001});
  EXPECT_THAT(std::string(refused.message()), HasSubstr("from 0 to 1000, not 1001"));
}

TEST(traceparent, refuses_what_the_recommendation_does_not_allow) {
  const std::string good = from_outside.traceparent;
  ASSERT_TRUE(parse_traceparent(good));

  const std::string zero_trace = "00-" + std::string(32, '0') + good.substr(35);
  const std::string zero_span = good.substr(0, 36) + std::string(16, '0') + "-01";
  for (const auto& bad :
       {std::string(), std::string("00"), good.substr(0, 54), good + "0", good + "-more",
        "ff" + good.substr(2), "0x" + good.substr(2), zero_trace, zero_span,
        "00-0AF7651916CD43DD8448EB211C80319C" + good.substr(35), good.substr(0, 53) + "zz"}) {
    EXPECT_FALSE(parse_traceparent(bad)) << bad;
    EXPECT_THAT(trace_id_of({bad, ""}), IsEmpty());
  }
}

TEST(traceparent, reads_later_versions_as_far_as_it_knows_them) {
  const std::string later = "01" + from_outside.traceparent.substr(2);
  EXPECT_TRUE(parse_traceparent(later));
  EXPECT_TRUE(parse_traceparent(later + "-more"));
  EXPECT_FALSE(parse_traceparent(later + "more"));
}

} // namespace
} // namespace reprieve
