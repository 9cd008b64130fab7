#include "actors/durability/ledger.hpp"
#include "state/records/keys.hpp"
#include "state/store/memory/memory_store.hpp"
#include "tests/support/actor_world.hpp"
#include "tests/support/faulty_store.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reprieve {

namespace {

using fault = faulty_store::fault;

/// Asks a shard that is nothing but its ledger.
struct ledger_write {
  std::vector<ledger_entry> writes;
  std::string carries_out;
};

/// Asks it to write this key of somebody else.
struct ledger_aside {
  std::string key;
};

ledger_entry entry(std::string key, std::string value) {
  return {std::move(key), [value = std::move(value)] { return value; }, false};
}

/// A record whose name comes with it; without a value both go.
ledger_entry named(std::string key, const std::string& value) {
  ledger_entry one{std::move(key), {}, true};
  if (!value.empty())
    one.value = [value] { return value; };
  return one;
}

struct ledger_host_state {
  static inline const char* name = "ledger_host";
  reprieve::ledger ledger;
};

} // namespace

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::ledger_write)
REPRIEVE_MESSAGE(reprieve::ledger_aside)

namespace reprieve {

namespace {

using ledger_host_actor =
  typed_actor<handles<absl::Status(ledger_write)>, handles<void(ledger_aside)>,
              handles<void(ledger_flush)>, handles<void(ledger_retry)>>;

ledger_host_actor::behavior_type
ledger_host(ledger_host_actor::stateful_pointer<ledger_host_state> self, ledger_settings settings) {
  self->state.ledger = ledger{std::move(settings)};
  return {
    [self](ledger_write& wanted) -> caf::result<absl::Status> {
      auto answer = promise_from<absl::Status>(self);
      write(
        self, std::move(wanted.writes),
        [answer](const absl::Status& how) mutable { answer.deliver(how); },
        std::move(wanted.carries_out));
      return answer;
    },
    [self](const ledger_aside& wanted) {
      write_aside(
        self,
        [wanted] {
          return std::optional(
            transaction{{{wanted.key, compared::modified, 0}}, {put{wanted.key, "aside", 0}}});
        },
        [](transaction_answer&) {});
    },
    [self](ledger_flush) { flush_ledger(self); },
    [self](ledger_retry due) { retry_ledger(self, due); },
  };
}

class ledger_test : public testing::Test {
protected:
  ledger_test() {
    memory_->commit({{}, {put{"own/r", "x", 0}}}, [&](auto answer) { epoch_ = answer->current; });
    ledger_ = open();
  }

  ledger_host_actor open(std::int32_t schema = schema_version) {
    ledger_settings settings;
    settings.shard = "n/default.0";
    settings.owner =
      std::make_shared<ownership>("own/r", epoch_, std::function<bool()>{}, 0, schema);
    settings.store = world_.system().spawn(serve_store, store_);
    return world_.system().spawn(ledger_host, settings);
  }

  absl::Status write(ledger_entry one) {
    return world_.ask<absl::Status>(ledger_, ledger_write{{std::move(one)}, {}})
      .value_or(absl::DeadlineExceededError("no answer"));
  }

  absl::Status write(const std::string& key, const std::string& value) {
    return write(entry(key, value));
  }

  /// The key's value and how often it was written.
  std::pair<std::string, std::int64_t> stored(const std::string& key) {
    std::pair<std::string, std::int64_t> found;
    memory_->read({just(key), 0, 0, false}, [&](const auto& answer) {
      if (!answer->values.empty())
        found = {answer->values.front().value, answer->values.front().version};
    });
    return found;
  }

  /// The decisions that were known to be carried out with the write of this key.
  std::set<std::string> known_at(const std::string& key) {
    range_request sequence{just(keys::sequence("n/default.0")), 0, 0, false};
    memory_->read({just(key), 0, 0, false},
                  [&](const auto& answer) { sequence.at = answer->values.front().modified; });
    std::set<std::string> known;
    memory_->read(sequence, [&](const auto& answer) {
      known = decode<sequence_record>(answer->values.front().value)->carried_out;
    });
    return known;
  }

  std::shared_ptr<memory_store> memory_ = std::make_shared<memory_store>();
  std::shared_ptr<faulty_store> store_ = std::make_shared<faulty_store>(memory_);
  revision epoch_ = 0;
  actor_world world_;
  ledger_host_actor ledger_;
};

TEST_F(ledger_test, answers_when_the_write_is_in_the_store) {
  EXPECT_TRUE(write("a", "1").ok());
  EXPECT_EQ(stored("a").first, "1");
}

TEST_F(ledger_test, says_nothing_while_an_aside_may_still_come) {
  for (const auto how : {fault::slow, fault::carried_out_late}) {
    const auto key = fmt::format("aside{}", static_cast<int>(how));
    store_->fault_at(0, how);
    caf::anon_send(ledger_, ledger_aside{key});
    bool told = false;
    world_.system().spawn([&](caf::event_based_actor* self) {
      self->request(ledger_, caf::infinite, ledger_write{}).then([&](absl::Status& confirmed) {
        told = confirmed.ok();
      });
    });
    world_.settle();
    EXPECT_EQ(told, how == fault::carried_out_late) << "that one is kept out by then";
    store_->let_late_writes_through();
    world_.settle();
    EXPECT_TRUE(told);
    EXPECT_EQ(stored(key).first, how == fault::slow ? "aside" : "");
  }
}

TEST_F(ledger_test, gathers_writes_while_a_batch_is_in_flight) {
  int answers = 0;
  for (int i = 0; i < 100; ++i)
    world_.system().spawn([&, i](caf::event_based_actor* self) {
      self->request(ledger_, caf::infinite, ledger_write{{entry("k" + std::to_string(i), "v")}, {}})
        .then([&](absl::Status& how) { answers += how.ok() ? 1 : 0; });
    });
  world_.settle();
  EXPECT_EQ(answers, 100);
  EXPECT_EQ(stored("k99").first, "v");
  EXPECT_LE(store_->writes(), 2U);
}

TEST_F(ledger_test, splits_a_write_that_is_too_large_for_one_transaction) {
  ledger_write large;
  for (int i = 0; i < 1000; ++i)
    large.writes.push_back(entry("k" + std::to_string(i), "v"));
  const auto how = world_.ask<absl::Status>(ledger_, large);
  ASSERT_TRUE(how.has_value());
  EXPECT_TRUE(how->ok());
  EXPECT_EQ(stored("k0").first, "v");
  EXPECT_EQ(stored("k999").first, "v");
}

TEST_F(ledger_test, writes_only_the_last_form_of_a_key_that_is_written_again) {
  std::vector<std::string> answers;
  for (const std::string value : {"1", "2", "3"})
    world_.system().spawn([&, value](caf::event_based_actor* self) {
      self->request(ledger_, caf::infinite, ledger_write{{entry("a", value), entry(value, "")}, {}})
        .then([&, value](absl::Status& how) { answers.push_back(how.ok() ? value : "failed"); });
    });
  world_.settle();
  EXPECT_EQ(answers, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(stored("a"), std::pair(std::string("3"), std::int64_t{1}));
  EXPECT_EQ(stored("1").second, 1);
}

TEST_F(ledger_test, keeps_a_request_whole_that_fits_into_one_transaction) {
  std::vector<std::size_t> whole;
  for (const std::size_t size : {100U, 100U})
    world_.system().spawn([&, size](caf::event_based_actor* self) {
      ledger_write many;
      for (std::size_t i = 0; i < size; ++i)
        many.writes.push_back(entry(fmt::format("{}-{}", whole.size(), i), "v"));
      self->request(ledger_, caf::infinite, std::move(many)).then([&](absl::Status&) {
        whole.push_back(store_->writes());
      });
    });
  world_.settle();
  EXPECT_EQ(whole, (std::vector<std::size_t>{1, 2}));
}

TEST_F(ledger_test, keeps_a_request_whole_that_is_large_and_comes_behind_others) {
  // Of half a megabyte each, so that two of them are too much for one transaction.
  std::vector<std::size_t> whole;
  for (int k = 0; k < 3; ++k)
    world_.system().spawn([&, k](caf::event_based_actor* self) {
      ledger_write large;
      for (int i = 0; i < 3; ++i)
        large.writes.push_back(entry(fmt::format("{}-{}", k, i), std::string(200'000, 'x')));
      self->request(ledger_, caf::infinite, std::move(large)).then([&](absl::Status&) {
        whole.push_back(store_->writes());
      });
    });
  world_.settle();
  EXPECT_EQ(whole, (std::vector<std::size_t>{1, 2, 3}));
}

TEST_F(ledger_test, refuses_alone_what_the_store_does_not_take) {
  std::map<std::string, absl::StatusCode> answers;
  const auto ask = [&](const std::string& who, std::vector<ledger_entry> writes) {
    world_.system().spawn([&, who, writes](caf::event_based_actor* self) {
      self->request(ledger_, caf::infinite, ledger_write{writes, "of-" + who})
        .then([&, who](absl::Status& how) { answers[who] = how.code(); });
    });
  };
  ask("small", {entry("a", "1")});
  ask("large", {entry("b", std::string(2'000'000, 'x')), entry("c", "1")});
  ask("behind", {entry("d", "1")});
  ask("on-it", {entry("c", "2"), entry("e", "2")});
  ask("on-that", {entry("e", "3")});
  ask("last", {entry("d", "2")});
  world_.settle();
  const auto refused = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(answers, (std::map<std::string, absl::StatusCode>{{"small", absl::StatusCode::kOk},
                                                              {"large", refused},
                                                              {"behind", absl::StatusCode::kOk},
                                                              {"on-it", refused},
                                                              {"on-that", refused},
                                                              {"last", absl::StatusCode::kOk}}));
  EXPECT_EQ(stored("a").first, "1");
  EXPECT_EQ(stored("d").first, "2");
  for (const auto* key : {"b", "c", "e"})
    EXPECT_EQ(stored(key).second, 0) << key;
  EXPECT_TRUE(write("b", "small by now").ok());
  EXPECT_EQ(known_at("b"), (std::set<std::string>{"of-small", "of-behind", "of-last"}));
}

TEST_F(ledger_test, begins_anew_where_a_part_of_what_it_can_not_write_is_written) {
  ledger_write large;
  for (int i = 0; i < 200; ++i)
    large.writes.push_back(entry("k" + std::to_string(i), "v"));
  large.writes.push_back(entry("too-large", std::string(2'000'000, 'x')));
  const auto how = world_.ask<absl::Status>(ledger_, large);
  ASSERT_TRUE(how.has_value());
  EXPECT_EQ(how->code(), absl::StatusCode::kAborted) << *how;
}

TEST_F(ledger_test, knows_that_a_decision_is_carried_out_with_the_last_of_its_writes) {
  ledger_write large{{}, "d1"};
  for (int i = 0; i < 200; ++i)
    large.writes.push_back(entry("k" + std::to_string(i), "v"));
  ASSERT_TRUE(world_.ask<absl::Status>(ledger_, large)->ok());
  EXPECT_TRUE(write("a", "1").ok());
  // For as long as nobody says that it is over.
  EXPECT_EQ(known_at("k0"), std::set<std::string>{});
  EXPECT_EQ(known_at("k199"), std::set<std::string>{"d1"});
  EXPECT_EQ(known_at("a"), std::set<std::string>{"d1"});
}

TEST_F(ledger_test, writes_once_when_the_answer_was_lost) {
  store_->fault_at(0, fault::answer_lost);
  EXPECT_TRUE(write("a", "1").ok());
  EXPECT_EQ(stored("a"), std::pair(std::string("1"), std::int64_t{1}));
}

TEST_F(ledger_test, tries_again_when_the_store_refused) {
  store_->fault_at(0, fault::refused);
  store_->fault_at(1, fault::refused);
  EXPECT_TRUE(write("a", "1").ok());
  EXPECT_EQ(stored("a"), std::pair(std::string("1"), std::int64_t{1}));
}

TEST_F(ledger_test, is_not_harmed_by_a_write_that_arrives_late) {
  store_->fault_at(0, fault::carried_out_late);
  EXPECT_TRUE(write("a", "1").ok());
  EXPECT_TRUE(write("a", "2").ok());
  store_->let_late_writes_through();
  EXPECT_EQ(stored("a"), std::pair(std::string("2"), std::int64_t{2}));
  EXPECT_TRUE(write("a", "3").ok());
}

TEST_F(ledger_test, writes_nothing_once_the_owner_record_has_changed) {
  memory_->commit({{}, {put{"own/r", "another", 0}}}, [](auto) {});
  const auto how = write("a", "1");
  EXPECT_TRUE(absl::IsAborted(how)) << how;
  EXPECT_EQ(stored("a").second, 0);
}

TEST_F(ledger_test, takes_the_name_of_a_record_and_gives_it_back_with_it) {
  EXPECT_TRUE(write(named("n/default.0/a", "1")).ok());
  EXPECT_EQ(stored("names/n/a").first, "default.0");
  EXPECT_TRUE(write("n/default.0/a", "2").ok());
  EXPECT_EQ(stored("names/n/a").second, 1);
  EXPECT_TRUE(write(named("n/default.0/a", "")).ok());
  EXPECT_EQ(stored("n/default.0/a").second, 0);
  EXPECT_EQ(stored("names/n/a").second, 0);
}

TEST_F(ledger_test, writes_nothing_of_a_name_that_another_group_took) {
  memory_->commit({{}, {put{"names/n/a", "other.0", 0}}}, [](auto) {});
  const auto how = write(named("n/default.0/a", "1"));
  EXPECT_TRUE(absl::IsAborted(how)) << how;
  EXPECT_EQ(stored("n/default.0/a").second, 0);
  EXPECT_EQ(stored("names/n/a").first, "other.0");
}

TEST_F(ledger_test, takes_a_name_again_in_the_batch_that_gives_it_back) {
  ASSERT_TRUE(write(named("n/default.0/a", "1")).ok());
  const auto before = store_->writes();
  ledger_write all{{named("n/default.0/a", ""), named("n/default.0/a", "2")}, {}};
  EXPECT_TRUE(world_.ask<absl::Status>(ledger_, all)->ok());
  EXPECT_EQ(store_->writes(), before + 1);
  EXPECT_EQ(stored("n/default.0/a").first, "2");
  EXPECT_EQ(stored("names/n/a").first, "default.0");
}

TEST_F(ledger_test, has_a_name_once_when_the_answer_was_lost) {
  store_->fault_at(0, fault::answer_lost);
  EXPECT_TRUE(write(named("n/default.0/a", "1")).ok());
  EXPECT_EQ(stored("names/n/a").second, 1);
}

TEST_F(ledger_test, writes_a_record_and_its_name_in_one_transaction) {
  ledger_write large;
  large.writes.push_back(entry("other", "v")); // so that pairs do not fill a transaction evenly
  for (int i = 0; i < 500; ++i)
    large.writes.push_back(named(fmt::format("n/default.0/{}", i), "v"));
  ASSERT_TRUE(world_.ask<absl::Status>(ledger_, large)->ok());
  const auto made_at = [&](const std::string& key) {
    revision at = 0;
    memory_->read({just(key), 0, 0, false},
                  [&](const auto& answer) { at = answer->values.front().created; });
    return at;
  };
  for (int i = 0; i < 500; ++i)
    EXPECT_EQ(made_at(fmt::format("n/default.0/{}", i)), made_at(fmt::format("names/n/{}", i)));
}

TEST_F(ledger_test, writes_no_names_while_a_replica_knows_none) {
  ledger_ = open(schema_with_names - 1);
  EXPECT_TRUE(write(named("n/default.0/a", "1")).ok());
  EXPECT_EQ(stored("names/n/a").second, 0);
}

} // namespace

} // namespace reprieve
