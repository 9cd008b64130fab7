#include "actors/ledger.hpp"
#include "state/keys.hpp"
#include "state/memory_store.hpp"
#include "tests/support/actor_world.hpp"
#include "tests/support/faulty_store.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reprieve {

namespace {

/// Asks a shard that is nothing but its ledger.
struct plain_write {
  std::string key;
  std::string value;
  int times = 1; ///< keys of this name
};

struct lender_state {
  static inline const char* name = "lender";
  reprieve::ledger ledger;
};

} // namespace

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::plain_write)
REPRIEVE_MESSAGE(reprieve::lend<reprieve::plain_write>)

namespace reprieve {

namespace {

using lender_actor =
  typed_actor<handles<absl::Status(plain_write)>, handles<lent_result(lend<plain_write>)>,
              handles<absl::Status(lent_end)>, handles<void(ledger_flush)>,
              handles<void(ledger_retry)>>;
using lender_pointer = lender_actor::stateful_pointer<lender_state>;

void write_plain(lender_pointer self, const plain_write& wanted, const status_answer& answer,
                 std::string lent_for = {}) {
  std::vector<ledger_entry> writes;
  for (int i = 0; i < wanted.times; ++i)
    writes.push_back({i == 0 ? wanted.key : fmt::format("{}{}", wanted.key, i),
                      [value = wanted.value] { return value; }, false});
  write_then(
    self, std::move(writes), [answer] { answer(absl::OkStatus()); }, {{}, std::move(lent_for)},
    answer);
}

lender_actor::behavior_type lender(lender_pointer self, ledger_settings settings) {
  self->state.ledger = ledger{std::move(settings)};
  return {
    [self](const plain_write& wanted) -> caf::result<absl::Status> {
      auto answer = promise_from<absl::Status>(self);
      write_plain(self, wanted, answer_to(answer));
      return answer;
    },
    [self](const lend<plain_write>& wanted) -> caf::result<lent_result> {
      return lend_for(self, wanted.bundle, [&](const status_answer& answer) {
        write_plain(self, wanted.change, answer, wanted.bundle);
      });
    },
    [self](const lent_end& end) -> caf::result<absl::Status> { return end_lent(self, end); },
    [self](ledger_flush) { flush_ledger(self); },
    [self](ledger_retry due) { retry_ledger(self, due); },
  };
}

class lending : public testing::Test {
protected:
  lending() {
    memory_->commit({{}, {put{"own/r", "x", 0}}}, [&](auto answer) { epoch_ = answer->current; });
    ledger_settings settings;
    settings.shard = "n/default.0";
    settings.owner =
      std::make_shared<ownership>("own/r", epoch_, std::function<bool()>{}, 0, schema_version);
    settings.store = world_.system().spawn(store_door, store_);
    lender_ = world_.system().spawn(lender, settings);
  }

  absl::Status write(const std::string& key, const std::string& value) {
    return world_.ask<absl::Status>(lender_, plain_write{key, value})
      .value_or(absl::DeadlineExceededError("no answer"));
  }

  lent_result borrow(const std::string& key, const std::string& value, int times = 1) {
    return world_.ask<lent_result>(lender_, lend<plain_write>{"b", plain_write{key, value, times}})
      .value_or(lent_result(absl::DeadlineExceededError("no answer")));
  }

  absl::Status end(lent_end::kind how, revision at = 0) {
    return world_.ask<absl::Status>(lender_, lent_end{how, "b", at})
      .value_or(absl::DeadlineExceededError("no answer"));
  }

  /// Where it was written; 0 where a comparison did not hold.
  revision carry_out(const lent_result& batch) {
    revision at = 0;
    memory_->commit(batch->writes,
                    [&](const auto& answer) { at = answer->succeeded ? answer->current : 0; });
    return at;
  }

  std::string stored(const std::string& key) {
    std::string found;
    memory_->read({just(key), 0, 0, false}, [&](const auto& answer) {
      if (!answer->values.empty())
        found = answer->values.front().value;
    });
    return found;
  }

  std::shared_ptr<memory_store> memory_ = std::make_shared<memory_store>();
  std::shared_ptr<faulty_store> store_ = std::make_shared<faulty_store>(memory_);
  revision epoch_ = 0;
  actor_world world_;
  lender_actor lender_;
};

TEST_F(lending, is_over_when_others_have_written_it) {
  const auto batch = borrow("a", "1");
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(stored("a"), "");
  const auto at = carry_out(batch);
  ASSERT_GT(at, 0);
  EXPECT_TRUE(end(lent_end::written, at).ok());
  EXPECT_TRUE(write("b", "2").ok());
  EXPECT_EQ(stored("a") + stored("b"), "12");
}

TEST_F(lending, lets_later_writes_wait) {
  const auto batch = borrow("a", "1");
  ASSERT_TRUE(batch.ok());
  auto later = std::make_shared<absl::Status>(absl::UnknownError("not yet"));
  world_.system().spawn([whom = lender_, later](caf::event_based_actor* self) {
    self->request(whom, caf::infinite, plain_write{"b", "2"})
      .then([later](const absl::Status& how) { *later = how; });
  });
  world_.settle();
  EXPECT_EQ(stored("b"), "");
  EXPECT_TRUE(end(lent_end::written, carry_out(batch)).ok());
  world_.settle();
  EXPECT_TRUE(later->ok()) << *later;
  EXPECT_EQ(stored("b"), "2");
}

TEST_F(lending, changes_nothing_where_it_was_given_up) {
  ASSERT_TRUE(borrow("a", "1").ok());
  EXPECT_TRUE(absl::IsCancelled(end(lent_end::refused)));
  EXPECT_TRUE(write("b", "2").ok());
  EXPECT_EQ(stored("a") + stored("b"), "2");
}

TEST_F(lending, finds_out_that_it_was_written) {
  const auto batch = borrow("a", "1");
  ASSERT_TRUE(batch.ok());
  ASSERT_GT(carry_out(batch), 0);
  EXPECT_TRUE(end(lent_end::unknown).ok());
  EXPECT_TRUE(write("a", "2").ok());
  EXPECT_EQ(stored("a"), "2");
}

TEST_F(lending, keeps_out_what_would_be_written_later) {
  const auto batch = borrow("a", "1");
  ASSERT_TRUE(batch.ok());
  EXPECT_TRUE(absl::IsCancelled(end(lent_end::unknown)));
  EXPECT_EQ(carry_out(batch), 0);
  EXPECT_TRUE(write("b", "2").ok());
  EXPECT_EQ(carry_out(batch), 0);
  EXPECT_EQ(stored("a") + stored("b"), "2");
}

TEST_F(lending, finds_out_whatever_becomes_of_its_own_write) {
  for (const auto fault : {faulty_store::fault::refused, faulty_store::fault::answer_lost,
                           faulty_store::fault::carried_out_late}) {
    const auto batch = borrow("a", "1");
    ASSERT_TRUE(batch.ok()) << batch.status();
    store_->fault_at(0, fault);
    EXPECT_TRUE(absl::IsCancelled(end(lent_end::unknown)));
    store_->let_late_writes_through();
    EXPECT_EQ(carry_out(batch), 0);
    EXPECT_TRUE(write("b", "2").ok());
    EXPECT_EQ(stored("a"), "");
  }
}

TEST_F(lending, goes_on_by_itself_where_nobody_comes_back) {
  const auto batch = borrow("a", "1");
  ASSERT_TRUE(batch.ok());
  world_.advance(std::chrono::seconds{4});
  EXPECT_EQ(carry_out(batch), 0);
  EXPECT_TRUE(write("b", "2").ok());
  EXPECT_TRUE(end(lent_end::refused).ok()) << "it knows of it no more, and it is not written";
}

TEST_F(lending, gives_nothing_that_is_too_much_for_one_transaction) {
  const auto batch = borrow("a", "1", 200);
  EXPECT_TRUE(absl::IsOutOfRange(batch.status())) << batch.status();
  EXPECT_TRUE(write("b", "2").ok());
  EXPECT_EQ(stored("a") + stored("b"), "2");
}

TEST_F(lending, is_refused_where_somebody_else_has_the_shard_by_now) {
  const auto batch = borrow("a", "1");
  ASSERT_TRUE(batch.ok());
  memory_->commit({{}, {put{"own/r", "another", 0}}}, [](auto) {});
  EXPECT_EQ(carry_out(batch), 0);
  EXPECT_TRUE(absl::IsCancelled(end(lent_end::refused)));
  EXPECT_EQ(stored("a"), "");
}

} // namespace

} // namespace reprieve
