#include "protocol/access/api_guard.hpp"
#include "state/quantities/quantity.hpp"
#include "testbed/processes/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <thread>
#include <vector>

namespace reprieve {

namespace {

using std::chrono::seconds;

/// A guard whose callers' file can be written anew.
class stream_withdrawal : public testing::Test {
protected:
  void SetUp() override {
    write("eve viewer token=eve-has-this-token\nmax viewer token=max-has-this-token\n");
    api_settings settings;
    settings.callers = callers;
    auto made = api_guard::make(settings);
    ASSERT_TRUE(made.ok()) << made.status();
    guard = *std::move(made);
  }

  void write(const std::string& text) const {
    std::ofstream(callers + ".new") << text;
    std::filesystem::rename(callers + ".new", callers);
  }

  absl::StatusOr<stream_pointer> open(const std::string& token) const {
    call_origin origin;
    origin.peer = "ipv4:127.0.0.1:1";
    origin.shown.authorization = "Bearer " + token;
    auto call = guard->enter(origin, api_call::events);
    return call.ok() ? guard->keep_open(*call) : call.status();
  }

  /// Opens a stream for each of them, of which only eve's may be withdrawn.
  void open_both() {
    const auto eve = open("eve-has-this-token");
    const auto max = open("max-has-this-token");
    ASSERT_TRUE(eve.ok() && max.ok()) << eve.status() << max.status();
    (*eve)->when_withdrawn([this](const absl::Status& why) { eve_told.set_value(why); });
    (*max)->when_withdrawn([](const absl::Status& why) { ADD_FAILURE() << why; });
    opened = {*eve, *max};
  }

  temporary_directory directory;
  std::string callers = (directory.path() / "callers").string();
  std::unique_ptr<api_guard> guard;
  std::vector<stream_pointer> opened;
  std::promise<absl::Status> eve_told;
  std::future<absl::Status> eve_is_told = eve_told.get_future();
};

TEST_F(stream_withdrawal, is_told_to_those_alone_who_may_not_stay) {
  open_both();
  write("max viewer token=max-has-this-token\n");
  ASSERT_EQ(eve_is_told.wait_for(seconds{10}), std::future_status::ready);
  const auto status = eve_is_told.get();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_NE(status.message().find("eve may not have this stream any more, for " + callers
                                  + " has changed: the token is not known"),
            absl::string_view::npos)
    << status;
  EXPECT_FALSE(open("eve-has-this-token").ok());
  EXPECT_TRUE(open("max-has-this-token").ok());
}

TEST_F(stream_withdrawal, is_told_to_those_whose_time_is_over) {
  const auto end = std::chrono::floor<seconds>(std::chrono::system_clock::now()) + seconds{4};
  write("eve viewer token=eve-has-this-token until="
        + format_time(std::chrono::time_point_cast<duration>(end))
        + "\nmax viewer token=max-has-this-token until=2100-01-01T00:00:00Z\n");
  std::this_thread::sleep_for(std::chrono::milliseconds{1200}); // until that is in use
  open_both();
  ASSERT_EQ(eve_is_told.wait_for(seconds{10}), std::future_status::ready);
  EXPECT_GE(std::chrono::system_clock::now(), end);
  const auto status = eve_is_told.get();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_NE(status.message().find("eve may not have this stream any more, for what eve shows was "
                                  "good until"),
            absl::string_view::npos)
    << status;
}

TEST_F(stream_withdrawal, reaches_a_stream_that_says_later_how_it_ends) {
  const auto eve = open("eve-has-this-token");
  ASSERT_TRUE(eve.ok()) << eve.status();
  (*eve)->withdraw(absl::PermissionDeniedError("no more"));
  (*eve)->withdraw(absl::PermissionDeniedError("once is enough"));
  absl::Status told;
  (*eve)->when_withdrawn([&](const absl::Status& why) { told = why; });
  EXPECT_EQ(told.message(), "no more");
}

TEST_F(stream_withdrawal, is_not_told_to_a_stream_that_is_over) {
  {
    const auto eve = open("eve-has-this-token");
    ASSERT_TRUE(eve.ok()) << eve.status();
    (*eve)->when_withdrawn([](const absl::Status& why) { ADD_FAILURE() << why; });
  }
  write("max viewer token=max-has-this-token\n");
  for (int i = 0; i < 200 && open("eve-has-this-token").ok(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  EXPECT_FALSE(open("eve-has-this-token").ok());
}

} // namespace

} // namespace reprieve
