#include "actors/replica/replica.hpp"
#include "state/records/keys.hpp"
#include "state/store/forwarding_store.hpp"
#include "state/store/memory/memory_store.hpp"
#include "tests/support/actor_world.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

/// A store that carries out writes, and answers what was read, when it is told to.
class slow_store final : public forwarding_store {
public:
  using forwarding_store::forwarding_store;

  void read(range_request request, store_callback<range_result> done) override {
    behind().read(std::move(request),
                  [this, done = std::move(done)](absl::StatusOr<range_result> found) {
                    if (holds_answers)
                      answers_.emplace_back([done, found] { done(found); });
                    else
                      done(std::move(found));
                  });
  }
  void commit(transaction writes, store_callback<transaction_result> done) override {
    if (holds_writes)
      writes_.emplace_back([this, writes, done] { behind().commit(writes, done); });
    else
      behind().commit(std::move(writes), std::move(done));
  }

  void carry_out() {
    holds_writes = false;
    for (const auto& one : std::exchange(writes_, {}))
      one();
  }
  void answer() {
    holds_answers = false;
    for (const auto& one : std::exchange(answers_, {}))
      one();
  }

  bool holds_writes = false;
  bool holds_answers = false;

private:
  std::vector<std::function<void()>> writes_;
  std::vector<std::function<void()>> answers_;
};

/// A replica's membership with a store that holds back what it is told to.
class membership_test : public testing::Test {
protected:
  membership_test() {
    schema_record schema;
    schema.version = schema_version;
    write(put{std::string(keys::schema), encode(schema), 0});
    const auto owner =
      world_.system().spawn([this](owner_actor::pointer) -> owner_actor::behavior_type {
        return {[this](const ownership_update& told) { newest_ = told; },
                [](const ownership_lost&) {}};
      });
    membership_settings settings;
    settings.name = "r1";
    settings.address = "here";
    settings.raw_store = store_;
    settings.store = world_.system().spawn(serve_store, store_);
    settings.owner = owner;
    settings.clock = world_.clock();
    member_ = world_.system().spawn(keep_membership, settings);
    caf::anon_send(member_, join_members{});
    world_.settle();
  }

  void write(put one) {
    behind_->commit({{}, {std::move(one)}}, [](auto) {});
  }

  actor_world world_;
  std::shared_ptr<memory_store> behind_ = std::make_shared<memory_store>();
  std::shared_ptr<slow_store> store_ = std::make_shared<slow_store>(behind_);
  membership_actor member_;
  ownership_update newest_;
};

TEST_F(membership_test, is_not_taken_back_to_what_was_read_before_its_own_write) {
  ASSERT_NE(newest_.ownership, nullptr);
  const auto joined = newest_.ownership->epoch();
  store_->holds_writes = true;
  caf::anon_send(member_, renew_epoch{});
  world_.settle();
  store_->holds_answers = true;
  write(put{keys::owner("r2"), encode(owner_record{"r2", "there", {}, {}, {}, schema_version}), 0});
  world_.settle();

  store_->carry_out();
  world_.settle();
  const auto renewed = newest_.ownership->epoch();
  ASSERT_GT(renewed, joined);
  store_->answer();
  world_.advance(std::chrono::seconds{1});

  EXPECT_EQ(newest_.ownership->epoch(), renewed);
  EXPECT_EQ(newest_.known->members.at("r1").epoch, renewed);
  EXPECT_TRUE(newest_.known->members.contains("r2"));
}

} // namespace

} // namespace reprieve
