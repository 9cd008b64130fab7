// What the gateway reads: in pages that come to an end, and in steps between which others are
// heard.

#include "actors/gateway/gateway_lookup.hpp"
#include "actors/gateway/gateway_turns.hpp"
#include "actors/interfaces/event_log.hpp"
#include "tests/support/actor_world.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// What a gateway has been told, without those who tell it.
class told {
public:
  void add(workload w) {
    auto record = std::make_shared<workload_record>();
    record->spec = std::move(w);
    state_.workloads.put(std::move(record), [](const auto*, const auto*) {});
  }

  void add(node n, pod_list pods = {}) {
    auto record = std::make_shared<node_record>();
    record->spec = std::move(n);
    record->pods = std::move(pods);
    state_.pods.replace({}, record->pods);
    state_.nodes.put(std::move(record), [](const auto*, const auto*) {});
  }

  const gateway_state& state() const {
    return state_;
  }

private:
  gateway_state state_;
};

workload in_queue(std::string name, std::string queue) {
  workload w;
  w.name = std::move(name);
  w.queue = std::move(queue);
  return w;
}

node machine(std::string name) {
  node n;
  n.name = std::move(name);
  return n;
}

pod pod_of(const std::string& workload, int number, const std::string& node) {
  pod p;
  p.workload = workload;
  p.node = node;
  p.name = fmt::format("{}-w-0-{:05}", workload, number);
  p.uid = p.name + ".0";
  return p;
}

struct whole_list {
  std::vector<std::string> names;
  std::size_t pages = 0;
  std::size_t empty_pages = 0; ///< of these, such that another one follows
};

/// Reads on as long as there is a `next`.
whole_list read_all(const told& known, get_request wanted) {
  whole_list found;
  do {
    const auto page = look_up(known.state(), wanted, {});
    EXPECT_TRUE(page.ok()) << page.status();
    ++found.pages;
    found.empty_pages += page->empty() && !page->next.empty() ? 1U : 0U;
    for (const auto& one : *page)
      found.names.push_back(name_of(one.what));
    wanted.after = page->next;
  } while (!wanted.after.empty() && found.pages < 1000);
  return found;
}

TEST(list_of_workloads, looks_at_so_many_for_a_page_and_holds_all_that_are_asked_for) {
  told known;
  for (int i = 0; i < 12'000; ++i)
    known.add(in_queue(fmt::format("w{:05}", i), i % 6'000 == 5'999 ? "rare" : "usual"));

  const auto rare = read_all(known, {object_kind::workload, {}, {}, "rare"});
  EXPECT_THAT(rare.names, ElementsAre("w05999", "w11999"));
  EXPECT_EQ(rare.pages, 3U);

  const auto none = read_all(known, {object_kind::workload, {}, {}, "none"});
  EXPECT_THAT(none.names, IsEmpty());
  EXPECT_EQ(none.pages, 3U);
  EXPECT_EQ(none.empty_pages, 2U);

  const auto all = read_all(known, {object_kind::workload, {}, {}, "usual"});
  EXPECT_EQ(all.names.size(), 11'998U);
  EXPECT_TRUE(std::ranges::is_sorted(all.names));
}

TEST(list_of_workloads, with_long_texts_is_read_in_smaller_pages) {
  told known;
  for (int i = 0; i < 60; ++i) {
    auto w = in_queue(fmt::format("w{:02}", i), "q");
    w.groups.emplace_back().pods.annotations["note"] = std::string(400'000, 'x');
    known.add(std::move(w));
  }
  const auto all = read_all(known, {object_kind::workload, {}, {}, {}});
  EXPECT_EQ(all.names.size(), 60U);
  EXPECT_GE(all.pages, 5U);
}

/// 12,000 pods on 3,000 of 9,000 nodes; three of them of another workload.
told many_pods() {
  told known;
  known.add(in_queue("usual", "q"));
  known.add(in_queue("rare", "other"));
  int number = 0;
  for (int i = 0; i < 9'000; ++i) {
    const auto name = fmt::format("n{:04}", i);
    pod_list pods;
    for (int k = 0; i % 3 == 0 && k < 4; ++k, ++number)
      pods.put(pod_of(number % 4'000 == 3'999 ? "rare" : "usual", 11'999 - number, name));
    known.add(machine(name), std::move(pods));
  }
  return known;
}

TEST(list_of_pods, looks_at_so_many_for_a_page_and_holds_all_that_are_asked_for) {
  const auto known = many_pods();
  const auto of_queue = read_all(known, {object_kind::pod, {}, {}, "other"});
  EXPECT_THAT(of_queue.names, ElementsAre("rare-w-0-08000", "rare-w-0-04000", "rare-w-0-00000"));
  EXPECT_GE(of_queue.pages, 4U);

  const auto none = read_all(known, {object_kind::pod, {}, "nowhere", {}});
  EXPECT_THAT(none.names, IsEmpty());
  EXPECT_GE(none.empty_pages, 3U);

  const auto all = read_all(known, {object_kind::pod, {}, {}, {}});
  EXPECT_EQ(all.names.size(), 12'000U);
}

TEST(list_of_pods, of_a_workload_holds_all_of_them_whether_they_are_few_or_many) {
  const auto known = many_pods();
  const auto few = read_all(known, {object_kind::pod, {}, {}, {}, {}, "rare"});
  EXPECT_THAT(few.names, ElementsAre("rare-w-0-08000", "rare-w-0-04000", "rare-w-0-00000"));
  EXPECT_EQ(few.pages, 1U);
  const auto many = read_all(known, {object_kind::pod, {}, {}, {}, {}, "usual"});
  EXPECT_EQ(many.names.size(), 11'997U);
  const auto there = read_all(known, {object_kind::pod, {}, {}, {}, "n0003", "usual"});
  EXPECT_EQ(there.names.size(), 4U);
  EXPECT_EQ(there.pages, 1U);
}

/// How many steps it took, with what was found.
std::size_t look_to_the_end(first_pods& pods, const told& known) {
  std::size_t steps = 1;
  while (!pods.look(known.state()))
    ++steps;
  return steps;
}

std::vector<std::string> names_of(const std::vector<pod>& pods) {
  std::vector<std::string> names;
  for (const auto& p : pods)
    names.push_back(p.name);
  return names;
}

TEST(first_pods, of_a_queue_are_found_in_steps_and_all_are_counted) {
  const auto known = many_pods();
  first_pods pods(object_kind::queue, "q", 3);
  EXPECT_GE(look_to_the_end(pods, known), 4U);
  EXPECT_EQ(pods.in_all(), 11'997U);
  EXPECT_THAT(names_of(std::move(pods).take()),
              ElementsAre("usual-w-0-00001", "usual-w-0-00002", "usual-w-0-00003"));
}

TEST(first_pods, of_a_workload_a_node_and_a_pod_are_those_that_are_theirs) {
  const auto known = many_pods();
  first_pods of_workload(object_kind::workload, "rare", 2);
  EXPECT_EQ(look_to_the_end(of_workload, known), 1U);
  EXPECT_EQ(of_workload.in_all(), 3U);
  EXPECT_THAT(names_of(std::move(of_workload).take()),
              ElementsAre("rare-w-0-00000", "rare-w-0-04000"));
  first_pods of_many(object_kind::workload, "usual", 10'000);
  EXPECT_GE(look_to_the_end(of_many, known), 4U);
  EXPECT_EQ(of_many.in_all(), 11'997U);
  first_pods of_node(object_kind::node, "n0003", 10);
  look_to_the_end(of_node, known);
  EXPECT_EQ(of_node.in_all(), 4U);
  first_pods of_pod(object_kind::pod, "rare-w-0-04000", 10);
  look_to_the_end(of_pod, known);
  EXPECT_EQ(of_pod.in_all(), 1U);
  first_pods of_class(object_kind::priority_class, "rare", 10);
  look_to_the_end(of_class, known);
  EXPECT_EQ(of_class.in_all(), 0U);
}

/// A gateway that everybody has told all, of which there is nothing.
gateway_actor idle_gateway(actor_world& world) {
  return world.system().spawn([](gateway_pointer self) {
    self->state.serving = std::make_shared<const directory>();
    self->state.known = std::make_shared<const catalog>();
    return gateway(self);
  });
}

/// Sends a request of somebody who is there for that only, and counts the answer.
template <class Reply, class Message>
void ask(actor_world& world, const gateway_actor& whom, Message message,
         std::function<void()> answered) {
  world.system().spawn([=](caf::event_based_actor* self) {
    self->request(whom, caf::infinite, message).then([=](const Reply&) { answered(); });
  });
}

TEST(gateway_reads, keep_a_heartbeat_waiting_for_one_of_them_and_not_for_all) {
  actor_world world;
  const auto front = idle_gateway(world);
  std::size_t read = 0;
  std::size_t read_before_heartbeat = 1000;
  for (int i = 0; i < 50; ++i)
    ask<get_result>(world, front, get_request{object_kind::workload, {}, {}, "none"},
                    [&] { ++read; });
  ask<heartbeat_result>(world, front, heartbeat_request{{"n1"}},
                        [&] { read_before_heartbeat = read; });
  world.settle();
  EXPECT_EQ(read, 50U);
  EXPECT_LE(read_before_heartbeat, 2U);
}

TEST(gateway_reads, take_turns_step_by_step) {
  actor_world world;
  std::string steps;
  const auto front = world.system().spawn([&steps](gateway_pointer self) {
    const auto read = [self, &steps](char name, int count) {
      read_in_turn(self, [&steps, name, left = count]() mutable {
        steps += name;
        return --left == 0;
      });
    };
    read('a', 3);
    read('b', 1);
    read('c', 2);
    return gateway(self);
  });
  world.settle();
  EXPECT_EQ(steps, "abcaca");
}

class event_log_copies : public testing::Test {
protected:
  void SetUp() override {
    event one;
    one.name = "n1";
    for (int i = 0; i < 3; ++i)
      caf::anon_send(log_, one);
    world_.settle();
  }

  /// Asks for somebody who is there until it is told to end.
  caf::actor ask(read_events wanted) {
    return world_.system().spawn([=, this](caf::event_based_actor* self) -> caf::behavior {
      self->request(log_, caf::infinite, wanted).then([this](const event_list& found) {
        EXPECT_EQ(found.size(), 3U);
        ++answers_;
      });
      return {[](tell_waiting) {}};
    });
  }

  actor_world world_;
  event_log_actor log_ = world_.system().spawn(event_log);
  std::size_t answers_ = 0;
};

TEST_F(event_log_copies, of_all_that_is_kept_are_made_for_few_at_a_time) {
  std::vector<caf::actor> readers;
  for (int i = 0; i < 10; ++i)
    readers.push_back(ask({}));
  world_.settle();
  EXPECT_EQ(answers_, event_log_state::most_copies);
  for (std::size_t i = 0; i < readers.size(); ++i) {
    caf::anon_send_exit(readers[i], caf::exit_reason::user_shutdown);
    world_.settle();
    EXPECT_EQ(answers_, std::min(readers.size(), event_log_state::most_copies + i + 1));
  }
}

TEST_F(event_log_copies, of_what_befell_one_object_wait_for_nobody) {
  std::vector<caf::actor> readers;
  for (int i = 0; i < 10; ++i)
    readers.push_back(ask({0, "n1"}));
  world_.settle();
  EXPECT_EQ(answers_, 10U);
  for (const auto& one : readers)
    caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
  world_.settle();
}

} // namespace

} // namespace reprieve
