#include "tests/actors/replica/replica_test.hpp"

namespace reprieve {

namespace {

using fault = faulty_store::fault;

/// What is applied or deleted together is there, or gone, as a whole: these objects belong to
/// several shards.
class whole_file : public replica_test {
protected:
  void SetUp() override {
    ASSERT_TRUE(replica_->start().ok());
    ASSERT_TRUE(replica_->apply({machine("n0", 1)}).ok());
  }

  static std::vector<object> file() {
    queue q;
    q.name = "team";
    std::vector<object> all{q, machine("n1", 1), machine("n2", 1), machine("n3", 1)};
    for (const auto* name : {"a", "b", "c", "d", "e"}) {
      auto w = work(name);
      w.queue = "team";
      all.emplace_back(w);
    }
    return all;
  }

  /// How many of the file's objects are there.
  std::size_t there() {
    std::size_t found = 0;
    for (const auto& one : file())
      found += replica_->get(kind_of(one), name_of(one)).size();
    return found;
  }

  void begin_anew() {
    replica_.reset();
    replica_ = std::make_unique<replica_world>(store_, journal());
    ASSERT_TRUE(replica_->start().ok());
  }

  std::unique_ptr<replica_world> replica_ = std::make_unique<replica_world>(store_, journal());
};

TEST_F(whole_file, is_applied_by_one_write) {
  const auto before = replica_->faults().writes();
  ASSERT_TRUE(replica_->apply(file()).ok());
  EXPECT_EQ(there(), file().size());
  EXPECT_GE(replica_->faults().writes(), before + 1);
}

TEST_F(whole_file, changes_nothing_where_one_workload_is_being_deleted) {
  ASSERT_TRUE(replica_->apply({played(work("old"), "stop-takes", "1h")}).ok());
  ASSERT_TRUE(comes_to(*replica_, "old", pod_phase::running, 1, std::chrono::seconds{5}));
  ASSERT_TRUE(replica_->remove(object_kind::workload, "old").ok());
  auto all = file();
  all.emplace_back(work("old"));
  const auto how = replica_->apply(all);
  EXPECT_FALSE(how.ok());
  EXPECT_EQ(there(), 0U) << how.status();
  EXPECT_TRUE(replica_->apply(file()).ok());
  EXPECT_EQ(there(), file().size());
}

TEST_F(whole_file, is_there_where_the_answer_of_the_store_was_lost) {
  replica_->faults().fault_at(0, fault::answer_lost);
  const auto how = replica_->apply(file());
  EXPECT_TRUE(how.ok()) << how.status();
  EXPECT_EQ(there(), file().size());
}

TEST_F(whole_file, does_not_come_late) {
  replica_->faults().fault_at(0, fault::carried_out_late);
  const auto how = replica_->apply(file());
  EXPECT_FALSE(how.ok());
  replica_->faults().let_late_writes_through();
  replica_->world().advance(std::chrono::seconds{1});
  EXPECT_EQ(there(), 0U);
  EXPECT_TRUE(replica_->apply(file()).ok());
  EXPECT_EQ(there(), file().size());
}

/// What somebody has asked a shard to lend who has died since.
class lent_to_one_who_died : public whole_file {
protected:
  void SetUp() override {
    whole_file::SetUp();
    lend_to_him("dead.1");
  }

  workload_shard_actor shard() {
    const auto shards = replica_->serving()->groups.find("default")->second.shards.workloads;
    return shards[shard_number("same", static_cast<std::uint32_t>(shards.size()))];
  }

  void lend_to_him(const std::string& bundle) {
    put_workloads change;
    change.objects.push_back(std::make_shared<const admitted>(
      admitted{wanted_, resolve_priorities(wanted_, catalog{}, nullptr)}));
    lent_ = replica_->world()
              .ask<lent_result>(shard(), lend<put_workloads>{bundle, change, false})
              .value_or(absl::UnknownError("no answer"));
    ASSERT_TRUE(lent_.ok()) << lent_.status();
  }

  /// He did so before he died.
  void write_it() {
    bool written = false;
    store_->commit(lent_->writes, [&](const auto& answer) { written = answer->succeeded; });
    ASSERT_TRUE(written);
  }

  const workload wanted_ = work("same");
  lent_result lent_{absl::UnknownError("nothing yet")};
};

TEST_F(lent_to_one_who_died, is_not_taken_for_there) {
  const auto before = shard();
  const auto how = replica_->apply({wanted_});
  ASSERT_TRUE(how.ok()) << how.status();
  EXPECT_EQ(how->front(), apply_outcome::created);
  EXPECT_EQ(shard(), before) << "no shard has to begin anew";
  begin_anew();
  EXPECT_EQ(replica_->get(object_kind::workload, "same").size(), 1U);
}

TEST_F(lent_to_one_who_died, comes_with_the_file_that_is_applied_again) {
  auto all = file();
  all.emplace_back(wanted_);
  const auto before = shard();
  const auto how = replica_->apply(all);
  ASSERT_TRUE(how.ok()) << how.status();
  EXPECT_EQ(there(), file().size());
  EXPECT_EQ(replica_->get(object_kind::workload, "same").size(), 1U);
  EXPECT_EQ(shard(), before);
}

TEST_F(lent_to_one_who_died, is_unchanged_where_he_has_written_it) {
  write_it();
  const auto how = replica_->apply({wanted_});
  ASSERT_TRUE(how.ok()) << how.status();
  EXPECT_EQ(how->front(), apply_outcome::unchanged);
  EXPECT_EQ(replica_->get(object_kind::workload, "same").size(), 1U);
}

TEST_F(lent_to_one_who_died, is_deleted_where_he_has_written_it) {
  write_it();
  replica_->world().advance(std::chrono::seconds{4});
  const auto how = replica_->remove_all(object_kind::workload, {"same"});
  EXPECT_TRUE(how.ok()) << how;
}

TEST_F(whole_file, is_created_by_one_of_those_who_apply_it_at_once) {
  const auto answers = replica_->apply_at_once(file(), 5);
  ASSERT_EQ(answers.size(), 5U);
  std::size_t created = 0;
  for (const auto& one : answers) {
    ASSERT_TRUE(one.ok()) << one.status();
    const auto mine = static_cast<std::size_t>(std::ranges::count(*one, apply_outcome::created));
    EXPECT_TRUE(mine == 0 || mine == file().size()) << mine;
    EXPECT_EQ(std::ranges::count(*one, apply_outcome::configured), 0);
    created += mine;
  }
  EXPECT_EQ(created, file().size());
  EXPECT_EQ(there(), file().size());
}

TEST_F(whole_file, one_object_is_created_by_one_of_those_who_apply_it_at_once) {
  for (const auto& what : file()) {
    if (kind_of(what) == object_kind::workload)
      continue; // the queue that it names may come later
    const auto answers = replica_->apply_at_once({what}, 4);
    ASSERT_EQ(answers.size(), 4U);
    std::ptrdiff_t created = 0;
    for (const auto& one : answers) {
      ASSERT_TRUE(one.ok()) << one.status();
      created += std::ranges::count(*one, apply_outcome::created);
    }
    EXPECT_EQ(created, 1) << name_of(what);
  }
  EXPECT_EQ(replica_->apply_at_once({work("single")}, 4).size(), 4U);
}

TEST_F(whole_file, is_there_or_not_wherever_the_process_dies) {
  for (std::size_t writes = 0; writes < 3; ++writes) {
    replica_->faults().cut_after(writes);
    (void)replica_->apply(file());
    begin_anew();
    const auto found = there();
    EXPECT_TRUE(found == 0 || found == file().size()) << found << " after " << writes;
    if (found == 0)
      continue;
    for (const auto* name : {"a", "b", "c", "d", "e"})
      ASSERT_TRUE(replica_->remove(object_kind::workload, name).ok());
    replica_->world().advance(std::chrono::seconds{30});
    for (const auto* name : {"n1", "n2", "n3"})
      ASSERT_TRUE(replica_->remove(object_kind::node, name).ok());
    ASSERT_TRUE(replica_->remove(object_kind::queue, "team").ok());
  }
}

/// More than one transaction takes.
TEST_F(whole_file, that_is_large_is_there_or_not_wherever_the_process_dies) {
  auto all = file();
  for (int i = 0; i < 300; ++i) {
    auto w = work(fmt::format("w{}", i));
    w.queue = "team";
    all.emplace_back(w);
  }
  const auto found = [&] {
    return replica_->get(object_kind::workload).size() + replica_->get(object_kind::node).size() - 1
           + replica_->get(object_kind::queue, "team").size();
  };
  std::size_t writes = 0;
  for (; found() == 0; ++writes) {
    ASSERT_LT(writes, 100U);
    replica_->faults().cut_after(writes);
    (void)replica_->apply(all);
    begin_anew();
  }
  EXPECT_GT(writes, 5U) << "it takes several";
  EXPECT_EQ(found(), all.size());
  // What is promised is made good after the first promise that counts as well.
  for (std::size_t more = 0; more < 8; ++more) {
    for (auto& one : all)
      if (auto* w = std::get_if<workload>(&one))
        w->priority = static_cast<std::int32_t>(100 + more);
    replica_->faults().cut_after(writes - 1 + more);
    (void)replica_->apply(all);
    begin_anew();
    std::set<std::int64_t> priorities;
    for (const auto& one : replica_->get(object_kind::workload))
      priorities.insert(std::get<workload>(one.what).priority.value_or(0));
    EXPECT_EQ(priorities.size(), 1U) << "after " << writes - 1 + more << " writes";
  }
}

/// With a resource group that is new, and a node in it.
class whole_file_with_group : public whole_file {
protected:
  static std::vector<object> with_group() {
    resource_group made;
    made.name = "other";
    auto there_as_well = machine("n9", 1);
    there_as_well.resource_group = "other";
    auto all = file();
    all.emplace_back(made);
    all.emplace_back(there_as_well);
    return all;
  }

  bool is_group_there() {
    return replica_->get(object_kind::resource_group, "other").size() == 1;
  }

  bool is_whole() {
    return there() == file().size() && is_group_there()
           && replica_->get(object_kind::node, "n9").size() == 1;
  }

  bool is_nothing() {
    return there() == 0 && !is_group_there() && replica_->get(object_kind::node, "n9").empty();
  }
};

TEST_F(whole_file_with_group, is_there_as_a_whole) {
  const auto how = replica_->apply(with_group());
  ASSERT_TRUE(how.ok()) << how.status();
  EXPECT_TRUE(is_whole());
  replica_->world().advance(std::chrono::minutes{3});
  EXPECT_TRUE(is_whole()) << "more came with the group";
}

TEST_F(whole_file_with_group, is_there_or_not_wherever_the_process_dies) {
  std::size_t writes = 0;
  for (; !is_whole(); ++writes) {
    ASSERT_LT(writes, 30U);
    replica_->faults().cut_after(writes);
    (void)replica_->apply(with_group());
    begin_anew();
    replica_->world().advance(std::chrono::minutes{3});
    EXPECT_TRUE(is_whole() || is_nothing()) << "after " << writes << " writes";
  }
  EXPECT_GT(writes, 2U);
}

TEST_F(whole_file_with_group, the_group_stays_where_somebody_else_uses_it) {
  replica_->faults().cut_after(1);
  (void)replica_->apply(with_group());
  begin_anew();
  ASSERT_TRUE(is_group_there());
  auto of_others = machine("n8", 1);
  of_others.resource_group = "other";
  ASSERT_TRUE(replica_->apply({of_others}).ok());
  replica_->world().advance(std::chrono::minutes{3});
  EXPECT_TRUE(is_group_there());
  ASSERT_TRUE(replica_->remove(object_kind::node, "n8").ok());
  replica_->world().advance(std::chrono::minutes{3});
  EXPECT_TRUE(is_group_there()) << "it is like any other by now";
}

TEST_F(whole_file, nobody_goes_where_one_is_not_there) {
  ASSERT_TRUE(replica_->apply(file()).ok());
  ASSERT_TRUE(comes_to(*replica_, "a", pod_phase::running, 1, std::chrono::seconds{5}));
  const auto how = replica_->remove_all(object_kind::workload, {"a", "b", "c", "nobody"});
  EXPECT_TRUE(absl::IsNotFound(how)) << how;
  replica_->world().advance(std::chrono::seconds{5});
  EXPECT_EQ(replica_->pods("a", pod_phase::running), 1U);
}

TEST_F(whole_file, all_nodes_stay_where_one_has_pods) {
  ASSERT_TRUE(replica_->apply({machine("n1", 1), machine("n2", 1), machine("n3", 1)}).ok());
  ASSERT_TRUE(replica_->apply({work("a", 0, 1)}).ok());
  ASSERT_TRUE(comes_to(*replica_, "a", pod_phase::running, 1, std::chrono::seconds{5}));
  const auto how = replica_->remove_all(object_kind::node, {"n0", "n1", "n2", "n3"});
  EXPECT_TRUE(absl::IsFailedPrecondition(how)) << how;
  EXPECT_EQ(replica_->get(object_kind::node).size(), 4U);
}

} // namespace

} // namespace reprieve
