#include "tests/actors/replica/replica_test.hpp"

namespace reprieve {

namespace {

using fault = faulty_store::fault;

class refusal : public replica_test {
protected:
  void SetUp() override {
    ASSERT_TRUE(replica_.start().ok());
    ASSERT_TRUE(replica_.apply({work("job")}).ok()); // no node, so that it has no pods
  }

  /// The writes after the next few fail for a while, so that what they are about is not durable.
  void delay_writes(std::size_t after) {
    for (std::size_t i = after; i < after + 5; ++i)
      replica_.faults().fault_at(i, fault::refused);
  }

  replica_world replica_{store_, journal()};
};

TEST_F(refusal, that_there_is_none_is_not_told_before_it_has_gone_for_good) {
  delay_writes(1); // behind the mark that it goes
  ASSERT_TRUE(replica_.remove(object_kind::workload, "job").ok());
  replica_.world().advance(std::chrono::milliseconds{50});
  ASSERT_FALSE(replica_.get(object_kind::workload, "job").empty()) << "its end is not durable yet";
  const auto again = replica_.remove(object_kind::workload, "job");
  EXPECT_TRUE(absl::IsNotFound(again)) << again;
  EXPECT_TRUE(replica_.get(object_kind::workload, "job").empty())
    << "what one was told, the next one sees";
}

} // namespace

} // namespace reprieve
