#include "testbed/processes/child_process.hpp"
#include "testbed/processes/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace reprieve {

namespace {

run_result demo(const std::filesystem::path& data) {
  ::setenv("REPRIEVE_BINARIES", REPRIEVE_BINARIES, 1);
  return run_program(
    {REPRIEVE_SOURCE "/deploy/demo", "--once", "--data", data.string(), "--listen", "127.0.0.1:0"},
    std::chrono::minutes{10}); // an emulator is slow
}

TEST(demo, shows_the_preemption_and_explains_it) {
  const temporary_directory directory;
  const auto result = demo(directory.path());
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("train-large/workers/0"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("nothing above it was touched"), std::string::npos) << result.output;
  EXPECT_NE(file_contents((directory.path() / "trace.jsonl").string()).find("decision.commit"),
            std::string::npos);
}

TEST(demo, finds_its_state_again_at_a_second_start) {
  const temporary_directory directory;
  ASSERT_EQ(demo(directory.path()).code, 0);
  const auto again = demo(directory.path());
  EXPECT_EQ(again.code, 0) << again.output;
  EXPECT_NE(again.output.find("state of the last run is here again"), std::string::npos)
    << again.output;
}

} // namespace

} // namespace reprieve
