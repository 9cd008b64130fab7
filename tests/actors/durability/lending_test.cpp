#include "actors/durability/ledger.hpp"
#include "actors/replica/shard_loader.hpp"
#include "state/records/keys.hpp"
#include "state/store/memory/memory_store.hpp"
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
  int times = 1;          ///< keys of this name
  bool has_names = false; ///< of which each is for one record only
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
              handles<absl::Status(lent_end)>, handles<absl::Status(confirm_ownership)>,
              handles<void(ledger_flush)>, handles<void(ledger_retry)>>;
using lender_pointer = lender_actor::stateful_pointer<lender_state>;

void write_plain(lender_pointer self, const plain_write& wanted, const status_answer& answer,
                 std::string lent_for = {}) {
  std::vector<ledger_entry> writes;
  for (int i = 0; i < wanted.times; ++i)
    writes.push_back({i == 0 ? wanted.key : fmt::format("{}{}", wanted.key, i),
                      [value = wanted.value] { return value; }, wanted.has_names});
  write_then(
    self, std::move(writes), [answer] { answer(absl::OkStatus()); }, {{}, std::move(lent_for)},
    answer);
}

lender_actor::behavior_type lender(lender_pointer self, ledger_settings settings) {
  self->state.ledger = ledger{std::move(settings)};
  return {
    [self](const plain_write& wanted) -> caf::result<absl::Status> {
      return answer_when_nothing_is_lent(
        self, [self, wanted](const auto& answer) { write_plain(self, wanted, answer); });
    },
    [self](const lend<plain_write>& wanted) -> caf::result<lent_result> {
      return lend_for(self, wanted, [self, wanted](const status_answer& answer) {
        write_plain(self, wanted.change, answer, wanted.bundle);
      });
    },
    [self](const lent_end& end) -> caf::result<absl::Status> { return end_lent(self, end); },
    [self](confirm_ownership) { return confirm_shard(self); },
    [self](ledger_flush) { flush_ledger(self); },
    [self](ledger_retry due) { retry_ledger(self, due); },
  };
}

class lending : public testing::Test {
protected:
  lending() {
    memory_->commit({{}, {put{"own/r", "x", 0}}}, [&](auto answer) { epoch_ = answer->current; });
    door_ = world_.system().spawn(serve_store, store_);
    lender_ = open(schema_version);
  }

  ownership_pointer owner(std::int32_t schema = schema_version) const {
    return std::make_shared<ownership>("own/r", epoch_, std::function<bool()>{}, 0, schema);
  }

  lender_actor open(std::int32_t schema) {
    ledger_settings settings;
    settings.shard = shard;
    settings.owner = owner(schema);
    settings.store = door_;
    memory_->read({just(keys::sequence(shard)), 0, 0, false}, [&](const auto& answer) {
      for (const auto& one : answer->values) {
        settings.sequence = decode<sequence_record>(one.value)->number;
        settings.sequence_revision = one.modified;
      }
    });
    return world_.system().spawn(lender, settings);
  }

  /// Its process is gone. Somebody else comes to own the shard, reads what is there, and goes on;
  /// or gives the shard up again while he reads.
  absl::Status begin_anew(bool gives_up = false) {
    caf::anon_send_exit(lender_, caf::exit_reason::kill);
    caf::anon_send_exit(door_, caf::exit_reason::kill);
    store_ = std::make_shared<faulty_store>(memory_);
    door_ = world_.system().spawn(serve_store, store_);
    memory_->commit({{}, {put{"own/r", "another", 0}}},
                    [&](auto answer) { epoch_ = answer->current; });
    auto how = std::make_shared<absl::Status>(absl::UnknownError("it is not read"));
    const load_listener_actor listener = world_.system().spawn(
      [how](load_listener_actor::pointer) -> load_listener_actor::behavior_type {
        return {[how](const shard_loaded& read) { *how = read.contents.status(); }};
      });
    const auto ours = std::make_shared<ownership>("own/r", epoch_);
    world_.system().spawn(load_shard, shard_loader_settings{shard, door_, ours, listener});
    if (gives_up)
      store_->watch_reads([this, ours](const range_result&) {
        memory_->commit({{}, {put{"own/r", "without the shard", 0}}},
                        [ours](auto answer) { ours->end_change(answer->current); });
      });
    world_.settle();
    lender_ = open(schema_version);
    return *how;
  }

  absl::Status write(const std::string& key, const std::string& value) {
    return world_.ask<absl::Status>(lender_, plain_write{key, value})
      .value_or(absl::DeadlineExceededError("no answer"));
  }

  lent_result borrow(const std::string& key, const std::string& value, int times = 1) {
    return borrow({"b", plain_write{key, value, times}});
  }

  lent_result borrow(const lend<plain_write>& wanted) {
    return world_.ask<lent_result>(lender_, wanted)
      .value_or(lent_result(absl::DeadlineExceededError("no answer")));
  }

  /// More than one transaction takes, with names.
  static plain_write much() {
    return {"x/default.0/a", "1", much_is, true};
  }

  std::size_t count(const std::string& prefix) {
    std::size_t found = 0;
    memory_->read({with_prefix(prefix), 0, 0, true},
                  [&](const auto& answer) { found = answer->values.size(); });
    return found;
  }

  /// All that was promised is there, or nothing; and no promise is left.
  void expect_all_or_nothing(bool all) {
    const std::size_t there = all ? much_is : 0;
    EXPECT_EQ(count("x/"), there);
    EXPECT_EQ(count("names/"), there);
    EXPECT_EQ(count("f/"), 0U);
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

  static inline const std::string shard = "n/default.0";
  static constexpr int much_is = 300;

  std::shared_ptr<memory_store> memory_ = std::make_shared<memory_store>();
  std::shared_ptr<faulty_store> store_ = std::make_shared<faulty_store>(memory_);
  revision epoch_ = 0;
  actor_world world_;
  store_actor door_;
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

TEST_F(lending, makes_what_was_asked_for_meanwhile_when_it_is_known_that_nothing_was_written) {
  const auto lost = borrow("a", "1");
  ASSERT_TRUE(lost.ok());
  auto next = std::make_shared<lent_result>(absl::UnknownError("not yet"));
  auto last = std::make_shared<absl::Status>(absl::UnknownError("not yet"));
  world_.system().spawn([whom = lender_, next, last](caf::event_based_actor* self) {
    self->request(whom, caf::infinite, lend<plain_write>{"next", plain_write{"a", "2"}})
      .then([next](lent_result& batch) { *next = std::move(batch); });
    self->request(whom, caf::infinite, plain_write{"a", "3"}).then([last](const absl::Status& how) {
      *last = how;
    });
  });
  world_.advance(std::chrono::seconds{4});
  EXPECT_EQ(carry_out(lost), 0);
  ASSERT_TRUE(next->ok()) << next->status();
  const auto at = carry_out(*next);
  ASSERT_GT(at, 0);
  EXPECT_EQ(stored("a"), "2");
  EXPECT_TRUE(world_.ask<absl::Status>(lender_, lent_end{lent_end::written, "next", at})->ok());
  world_.settle();
  EXPECT_TRUE(last->ok()) << *last;
  EXPECT_EQ(stored("a"), "3");
}

TEST_F(lending, tells_whoever_asks_late_what_became_of_it) {
  const auto batch = borrow("a", "1");
  ASSERT_GT(carry_out(batch), 0);
  world_.advance(std::chrono::seconds{4});
  EXPECT_TRUE(end(lent_end::unknown).ok());
  const auto lost = borrow({"c", plain_write{"c", "1"}});
  ASSERT_TRUE(lost.ok());
  world_.advance(std::chrono::seconds{4});
  EXPECT_TRUE(absl::IsCancelled(
    world_.ask<absl::Status>(lender_, lent_end{lent_end::unknown, "c", 0}).value()));
}

TEST_F(lending, shows_what_others_have_written_before_they_say_so) {
  const auto batch = borrow("a", "1");
  EXPECT_TRUE(world_.ask<absl::Status>(lender_, confirm_ownership{})->ok());
  EXPECT_TRUE(absl::IsCancelled(end(lent_end::refused))) << "nobody has written it";
  const auto again = borrow("a", "2");
  ASSERT_GT(carry_out(again), 0);
  EXPECT_TRUE(world_.ask<absl::Status>(lender_, confirm_ownership{})->ok());
  EXPECT_TRUE(write("b", "2").ok()) << "it goes on at once";
  EXPECT_EQ(stored("a") + stored("b"), "22");
  EXPECT_TRUE(end(lent_end::unknown).ok());
}

TEST_F(lending, says_nothing_of_how_things_stand_while_the_store_does_not_tell) {
  ASSERT_TRUE(borrow("a", "1").ok());
  store_->cut();
  const auto how = world_.ask<absl::Status>(lender_, confirm_ownership{});
  EXPECT_FALSE(how && how->ok());
  EXPECT_TRUE(begin_anew().ok());
}

TEST_F(lending, gives_nothing_that_is_too_much_where_some_do_not_know_promises) {
  lender_ = open(schema_with_promises - 1);
  const auto batch = borrow("a", "1", 200);
  EXPECT_TRUE(absl::IsOutOfRange(batch.status())) << batch.status();
  EXPECT_TRUE(write("b", "2").ok());
  EXPECT_EQ(stored("a") + stored("b"), "2");
}

TEST_F(lending, promises_what_is_too_much_for_one_transaction) {
  const auto batch = borrow({"b", much()});
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->writes.operations.size(), 1U);
  EXPECT_EQ(count("x/"), 0U);
  EXPECT_EQ(count("names/"), 300U) << "they are taken, so that nobody else takes them";
  EXPECT_TRUE(end(lent_end::written, carry_out(batch)).ok());
  world_.settle();
  expect_all_or_nothing(true);
  EXPECT_TRUE(write("b", "2").ok());
}

TEST_F(lending, promises_little_where_that_is_asked_for) {
  const auto batch = borrow({"b", plain_write{"a", "1", 3}, true});
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->writes.operations.size(), 1U);
  EXPECT_TRUE(end(lent_end::written, carry_out(batch)).ok());
  world_.settle();
  EXPECT_EQ(stored("a") + stored("a1") + stored("a2"), "111");
  EXPECT_EQ(count("f/"), 0U);
}

TEST_F(lending, takes_back_what_it_promised_where_it_was_given_up) {
  const auto batch = borrow({"b", much()});
  ASSERT_TRUE(batch.ok());
  EXPECT_TRUE(absl::IsCancelled(end(lent_end::refused)));
  EXPECT_EQ(carry_out(batch), 0);
  expect_all_or_nothing(false);
  EXPECT_TRUE(write("b", "2").ok());
}

TEST_F(lending, takes_back_what_it_promised_where_nobody_comes_back) {
  const auto batch = borrow({"b", much()});
  ASSERT_TRUE(batch.ok());
  world_.advance(std::chrono::seconds{11});
  EXPECT_EQ(carry_out(batch), 0);
  expect_all_or_nothing(false);
  EXPECT_TRUE(write("b", "2").ok());
}

TEST_F(lending, takes_back_what_it_promised_where_a_name_is_taken) {
  const auto taken = fmt::format("names/x/a{}", much_is - 1);
  memory_->commit({{}, {put{taken, "other.0", 0}}}, [](auto) {});
  const auto batch = borrow({"b", much()});
  EXPECT_TRUE(absl::IsCancelled(batch.status())) << batch.status();
  EXPECT_EQ(stored(taken), "other.0");
  EXPECT_EQ(count("names/"), 1U);
  EXPECT_EQ(count("f/") + count("x/"), 0U);
  EXPECT_TRUE(write("b", "2").ok());
}

TEST_F(lending, makes_good_what_it_promised_whatever_becomes_of_its_writes) {
  for (const auto fault : {faulty_store::fault::refused, faulty_store::fault::answer_lost,
                           faulty_store::fault::carried_out_late})
    for (std::size_t at = 0; at < 12; ++at) {
      const plain_write some{fmt::format("k{}-{}-", static_cast<int>(fault), at), "1", much_is};
      store_->fault_at(at, fault);
      const auto batch = borrow({"b", some});
      ASSERT_TRUE(batch.ok()) << batch.status();
      EXPECT_TRUE(end(lent_end::written, carry_out(batch)).ok());
      world_.advance(std::chrono::seconds{2});
      store_->let_late_writes_through();
      EXPECT_EQ(count(some.key), 300U);
      EXPECT_EQ(count("f/"), 0U);
      EXPECT_TRUE(write(some.key, "2").ok());
      EXPECT_EQ(stored(some.key), "2");
    }
}

TEST_F(lending, whoever_comes_next_makes_good_what_was_promised) {
  for (std::size_t writes = 0; writes < 8; ++writes) {
    const plain_write some{fmt::format("x/default.0/k{}-", writes), "1", much_is, true};
    const auto batch = borrow({"b", some});
    ASSERT_TRUE(batch.ok()) << batch.status();
    const auto at = carry_out(batch);
    ASSERT_GT(at, 0);
    store_->cut_after(writes);
    (void)end(lent_end::written, at);
    const auto read = begin_anew();
    EXPECT_TRUE(read.ok()) << read;
    EXPECT_EQ(count(some.key), 300U);
    EXPECT_EQ(count("f/"), 0U);
  }
  EXPECT_TRUE(write("b", "2").ok());
}

TEST_F(lending, whoever_comes_next_takes_back_what_was_promised_in_vain) {
  for (std::size_t writes = 0; writes < 8; ++writes) {
    store_->cut_after(writes);
    const auto batch = borrow({"b", much()});
    const auto read = begin_anew();
    EXPECT_TRUE(read.ok()) << read;
    if (batch.ok()) {
      EXPECT_EQ(carry_out(batch), 0);
    }
    expect_all_or_nothing(false);
  }
  EXPECT_TRUE(write("b", "2").ok());
}

TEST_F(lending, stays_as_it_is_where_who_reads_it_gives_the_shard_up) {
  ASSERT_TRUE(borrow({"b", much()}).ok());
  const auto promised = count("f/");
  ASSERT_GT(promised, 0U);
  EXPECT_TRUE(absl::IsUnavailable(begin_anew(true)));
  EXPECT_EQ(count("f/"), promised);
  EXPECT_TRUE(begin_anew().ok());
  EXPECT_EQ(count("f/"), 0U);
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
