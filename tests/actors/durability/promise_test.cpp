#include "actors/caf.hpp"
#include "tests/support/actor_world.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace reprieve {

namespace {

/// Asks for an answer that comes later, if at all.
struct question {};

/// Has the oldest question answered.
struct answer_one {};

/// Has the oldest question forgotten.
struct forget_one {};

} // namespace

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::question)
REPRIEVE_MESSAGE(reprieve::answer_one)
REPRIEVE_MESSAGE(reprieve::forget_one)

namespace reprieve {

namespace {

using debtor_actor = typed_actor<handles<absl::Status(question)>, handles<void(answer_one)>,
                                 handles<void(forget_one)>>;

struct debtor_state {
  static inline const char* name = "debtor";
  std::vector<promise<absl::Status>> owed;
};

debtor_actor::behavior_type debtor(debtor_actor::stateful_pointer<debtor_state> self) {
  return {
    [self](question) -> caf::result<absl::Status> {
      self->state.owed.push_back(promise_from<absl::Status>(self));
      return self->state.owed.back();
    },
    [self](answer_one) {
      self->state.owed.front().deliver(absl::OkStatus());
      self->state.owed.erase(self->state.owed.begin());
    },
    [self](forget_one) { self->state.owed.erase(self->state.owed.begin()); },
  };
}

class promise_test : public testing::Test {
protected:
  /// What somebody who asks has heard, in the order he heard it.
  std::shared_ptr<std::vector<absl::Status>> ask() {
    auto heard = std::make_shared<std::vector<absl::Status>>();
    world.system().spawn([heard, whom = whom](caf::event_based_actor* self) {
      self->request(whom, caf::infinite, question{})
        .then([heard](const absl::Status& how) { heard->push_back(how); },
              [heard](const caf::error& error) { heard->push_back(to_status(error)); });
    });
    world.settle();
    return heard;
  }

  template <class Message>
  void tell(Message message) {
    caf::anon_send(whom, message);
    world.settle();
  }

  actor_world world;
  debtor_actor whom = world.system().spawn(debtor);
};

} // namespace

TEST_F(promise_test, is_kept_later_and_once) {
  const auto heard = ask();
  EXPECT_TRUE(heard->empty());
  tell(answer_one{});
  EXPECT_EQ(*heard, std::vector{absl::OkStatus()});
  world.kill(whom);
  world.settle();
  EXPECT_EQ(heard->size(), 1U);
}

TEST_F(promise_test, is_known_to_be_broken_when_the_actor_ends) {
  const auto first = ask();
  const auto second = ask();
  tell(answer_one{});
  world.kill(whom);
  world.settle();
  EXPECT_EQ(*first, std::vector{absl::OkStatus()});
  ASSERT_EQ(second->size(), 1U);
  EXPECT_TRUE(absl::IsUnavailable(second->front())) << second->front();
}

TEST_F(promise_test, is_known_to_be_broken_when_it_is_forgotten) {
  const auto heard = ask();
  tell(forget_one{});
  ASSERT_EQ(heard->size(), 1U);
  EXPECT_TRUE(absl::IsUnavailable(heard->front())) << heard->front();
}

TEST_F(promise_test, is_owed_to_nobody_where_nobody_waits) {
  tell(question{});
  tell(answer_one{});
  tell(question{});
  tell(forget_one{});
  const auto heard = ask();
  tell(answer_one{});
  EXPECT_EQ(*heard, std::vector{absl::OkStatus()});
}

} // namespace reprieve
