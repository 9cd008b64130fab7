// Connections of callers who want all of them, and of those who speak HTTP/2 as nobody should.

#include "tests/integration/daemon.hpp"
#include "tests/support/raw_http2.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A `GetRequest` of queues.
constexpr std::string_view get_queues("\x08\x02", 2);

/// A daemon that knows an admin and a viewer.
class connections_live : public testing::Test {
protected:
  void start(std::vector<std::string> options = {}) {
    const auto tokens = (data.path() / "tokens").string();
    std::ofstream(tokens) << "root admin token=root-has-this-token\n"
                             "eve viewer token=eve-has-this-token\n";
    options.insert(options.end(), {"--tokens", tokens});
    daemon = std::make_unique<daemon_process>(data.path(), options);
    ASSERT_TRUE(daemon->serves()) << daemon->output();
    ASSERT_TRUE(serves_root());
  }

  bool serves_root() const {
    return daemon->cli({"--token", "root-has-this-token", "get", "queues"}).code == 0;
  }

  /// Opens connections from there, by each of which a call of eve is let in.
  void open_for_eve(int count, const std::string& from) {
    for (int i = 0; i < count; ++i) {
      auto& one = *eves.emplace_back(std::make_unique<raw_http2>(daemon->address(), 65'535, from));
      EXPECT_TRUE(one.ended(one.ask("Get", get_queues, "eve-has-this-token"), seconds{5}));
    }
  }

  std::ptrdiff_t open_of_eve() const {
    return std::ranges::count_if(eves, [](const auto& one) { return one->open(); });
  }

  /// What a right call has, but for the headers that are given.
  static raw_http2::headers right_but_for(const raw_http2::headers& other) {
    raw_http2::headers all{{":method", "POST"},
                           {":scheme", "http"},
                           {":path", "/reprieve.v1.Reprieve/Get"},
                           {":authority", "localhost"},
                           {"content-type", "application/grpc"},
                           {"te", "trailers"},
                           {"authorization", "Bearer eve-has-this-token"}};
    for (const auto& [name, value] : other) {
      const auto same =
        std::ranges::find_if(all, [&](const auto& one) { return one.first == name; });
      if (same == all.end())
        all.emplace_back(name, value);
      else
        same->second = value;
    }
    return all;
  }

  temporary_directory data;
  std::unique_ptr<daemon_process> daemon;
  std::vector<std::unique_ptr<raw_http2>> eves;
};

TEST_F(connections_live, of_one_caller_from_two_addresses_give_way_to_others) {
  start({"--connections", "100"});
  open_for_eve(50, "127.0.0.1");
  open_for_eve(50, "127.0.0.2");
  ASSERT_GE(open_of_eve(), 99); // the command line may hold one still
  EXPECT_TRUE(serves_root()) << daemon->output();
  for (const auto* from : {"127.0.0.1", "127.0.0.3"}) {
    raw_http2 other(daemon->address(), 65'535, from);
    EXPECT_TRUE(other.ended(other.ask("Get", get_queues, "root-has-this-token"), seconds{5}));
    EXPECT_TRUE(other.open()) << from << daemon->output();
  }
  EXPECT_TRUE(within(seconds{2}, [&] { return open_of_eve() < 100; }));
  EXPECT_GE(open_of_eve(), 90);
  // What was used last goes last.
  EXPECT_TRUE(eves.back()->open());
  EXPECT_NE(daemon->output().find("were ended to make room for others"), std::string::npos)
    << daemon->output();
}

TEST_F(connections_live,
       of_one_caller_from_many_addresses_give_way_before_those_of_a_larger_address) {
  start({"--connections", "100"});
  std::vector<std::unique_ptr<raw_http2>> roots;
  for (int i = 0; i < 8; ++i) {
    auto& one =
      *roots.emplace_back(std::make_unique<raw_http2>(daemon->address(), 65'535, "127.0.0.2"));
    EXPECT_TRUE(one.ended(one.ask("Get", get_queues, "root-has-this-token"), seconds{5}));
  }
  for (int i = 0; i < 23; ++i)
    open_for_eve(4, "127.0.1." + std::to_string(i + 1));
  for (int i = 0; i < 20; ++i) {
    raw_http2 other(daemon->address(), 65'535, "127.0.0.3");
    EXPECT_TRUE(other.ended(other.ask("Get", get_queues, "root-has-this-token"), seconds{5}));
  }
  EXPECT_TRUE(within(seconds{2}, [&] { return open_of_eve() < 92; })) << daemon->output();
  EXPECT_EQ(std::ranges::count_if(roots, [](const auto& one) { return one->open(); }), 8)
    << daemon->output();
}

TEST_F(connections_live, that_wait_for_descriptors_do_not_hold_up_the_end) {
  start();
  const rlimit few{256, 256};
  ASSERT_EQ(prlimit(daemon->id(), RLIMIT_NOFILE, &few, nullptr), 0);
  std::vector<std::unique_ptr<raw_http2>> idle_ones;
  for (int i = 0; i < 400; ++i)
    idle_ones.push_back(std::make_unique<raw_http2>(daemon->address()));
  EXPECT_TRUE(within(
    seconds{5}, [&] { return daemon->output().find("were turned away") != std::string::npos; }));
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_EQ(daemon->stop(), 0) << daemon->output();
  EXPECT_LT(std::chrono::steady_clock::now() - asked, milliseconds{2500});
}

TEST_F(connections_live, of_strangers_whose_headers_never_end_take_little_memory) {
  start();
  const auto idle_memory = daemon->memory();
  auto highest = idle_memory;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<raw_http2>> strangers;
    for (int i = 0; i < 200; ++i) {
      strangers.push_back(std::make_unique<raw_http2>(daemon->address(), 65'535,
                                                      "127.0.0." + std::to_string(2 + i % 8)));
      strangers.back()->begin_endless_headers();
    }
    for (int i = 0; i < 100; ++i) {
      for (const auto& one : strangers)
        if (one->open())
          one->send_another_header(12'000);
      highest = std::max(highest, daemon->memory());
    }
  }
  EXPECT_LT(highest - idle_memory, std::int64_t{96} << 20);
  EXPECT_TRUE(serves_root());
}

TEST_F(connections_live, with_headers_that_no_client_sends_end_nothing_but_their_calls) {
  start();
  const std::string long_text(9'000, 'x');
  const std::vector<raw_http2::headers> odd_ones{
    {{"te", "x"}},
    {{":scheme", "ftp"}},
    {{"x-long", long_text}},
    {{"te", "x"}, {":scheme", "ftp"}, {"x-long", long_text}},
    {{"te", "x"}, {":scheme", "ftp"}, {"x-long", std::string(60'000, 'x')}},
    {{":method", "GET"}, {"te", "x"}, {"x-long", long_text}},
    {{"content-type", "text/plain"}, {"te", ""}, {"x-long", long_text}},
  };
  for (int round = 0; round < 5; ++round)
    for (const auto& odd : odd_ones) {
      raw_http2 one(daemon->address());
      const auto call = one.begin_with(right_but_for(odd));
      one.send(call, raw_http2::framed(get_queues, get_queues.size()), milliseconds{500}, true);
      EXPECT_TRUE(one.ended(call, seconds{5}));
    }
  EXPECT_TRUE(serves_root()) << daemon->output();
  EXPECT_EQ(daemon->stop(), 0) << daemon->output();
}

} // namespace

} // namespace reprieve
