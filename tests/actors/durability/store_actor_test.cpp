#include "actors/durability/store_actor.hpp"
#include "state/store/forwarding_store.hpp"
#include "state/store/memory/memory_store.hpp"
#include "tests/support/actor_world.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

/// A store that answers when it is told to.
class slow_store final : public forwarding_store {
public:
  using forwarding_store::forwarding_store;

  void commit(transaction writes, store_callback<transaction_result> done) override {
    sizes.push_back(writes.operations.size());
    waiting_.emplace_back(std::move(writes), std::move(done));
  }

  void answer(std::size_t count) {
    for (; count > 0 && !waiting_.empty(); --count) {
      auto [writes, done] = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
      behind().commit(std::move(writes), std::move(done));
    }
  }

  /// Without carrying any out.
  void answer_all(const absl::Status& how) {
    for (auto& [writes, done] : std::exchange(waiting_, {}))
      done(how);
  }

  std::vector<std::size_t> sizes; ///< how much each write that came had

private:
  std::vector<std::pair<transaction, store_callback<transaction_result>>> waiting_;
};

class store_door_test : public testing::Test {
protected:
  /// Asks for a write; `answers` gets what comes of it.
  void write(const std::string& key, std::vector<comparison> compared = {}) {
    world_.system().spawn([this, key, compared](caf::event_based_actor* self) {
      self->request(door_, caf::infinite, transaction{compared, {put{key, key, 0}}})
        .then([this, key](transaction_answer& answer) { answers_[key] = std::move(answer); });
    });
    world_.settle();
  }

  void answer(std::size_t count) {
    store_->answer(count);
    world_.settle();
  }

  bool is_written(const std::string& key) {
    bool found = false;
    memory_->read({just(key), 0, 0, false}, [&](const auto& answer) {
      found = answer->values.size() == 1 && answer->values.front().modified == revision_of(key);
    });
    return found;
  }

  revision revision_of(const std::string& key) {
    const auto found = answers_.find(key);
    return found == answers_.end() || !found->second.ok() || !found->second->succeeded
             ? -1
             : found->second->current;
  }

  std::shared_ptr<memory_store> memory_ = std::make_shared<memory_store>();
  std::shared_ptr<slow_store> store_ = std::make_shared<slow_store>(memory_);
  actor_world world_;
  store_actor door_ = world_.system().spawn(serve_store, store_);
  std::map<std::string, transaction_answer> answers_;
};

TEST_F(store_door_test, sends_at_once_what_need_not_wait) {
  write("a");
  write("b");
  EXPECT_EQ(store_->sizes, (std::vector<std::size_t>{1, 1}));
}

TEST_F(store_door_test, makes_one_write_of_those_that_come_while_others_are_under_way) {
  for (const auto* key : {"a", "b", "c", "d", "e"})
    write(key);
  EXPECT_EQ(store_->sizes.size(), 2U);
  answer(1);
  EXPECT_EQ(store_->sizes, (std::vector<std::size_t>{1, 1, 3}));
  EXPECT_TRUE(answers_.contains("a"));
  EXPECT_FALSE(answers_.contains("c")) << "it is not durable yet";
  answer(2);
  for (const auto* key : {"a", "b", "c", "d", "e"})
    EXPECT_TRUE(is_written(key)) << key;
}

TEST_F(store_door_test, makes_each_write_by_itself_where_one_does_not_hold) {
  write("a");
  write("b");
  write("c", {{"owner", compared::modified, 0}});
  write("d", {{"a", compared::version, 99}});
  write("e");
  answer(2);
  EXPECT_EQ(store_->sizes, (std::vector<std::size_t>{1, 1, 3}));
  answer(1);
  EXPECT_TRUE(answers_.size() == 2) << "nobody is told what is not known of him alone";
  answer(3);
  EXPECT_TRUE(is_written("c"));
  EXPECT_TRUE(is_written("e"));
  ASSERT_TRUE(answers_.at("d").ok());
  EXPECT_FALSE(answers_.at("d")->succeeded);
  EXPECT_FALSE(is_written("d"));
}

TEST_F(store_door_test, tells_all_that_nobody_knows_where_the_answer_was_lost) {
  for (const auto* key : {"a", "b", "c", "d"})
    write(key);
  answer(2);
  store_->answer_all(absl::UnknownError("lost"));
  world_.settle();
  EXPECT_TRUE(absl::IsUnknown(answers_.at("c").status()));
  EXPECT_TRUE(absl::IsUnknown(answers_.at("d").status()));
}

TEST_F(store_door_test, goes_on_when_the_store_does_not_answer) {
  for (const auto* key : {"a", "b", "c", "d"})
    write(key);
  EXPECT_EQ(store_->sizes.size(), 2U);
  world_.advance(std::chrono::seconds{2});
  EXPECT_EQ(store_->sizes, (std::vector<std::size_t>{1, 1, 2}));
  EXPECT_TRUE(answers_.empty());
  world_.advance(std::chrono::seconds{12});
  for (const auto* key : {"a", "b", "c", "d"})
    EXPECT_TRUE(absl::IsUnknown(answers_.at(key).status())) << key;
  answer(3); // too late, for nobody
  write("e");
  answer(1);
  EXPECT_TRUE(is_written("e"));
}

} // namespace

} // namespace reprieve
