// What strangers, and callers who mean no good, can make a daemon take.

#include "tests/integration/daemon.hpp"
#include "tests/support/raw_http2.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t mebibyte = 1 << 20;

/// How much a process had at the most while this is there.
class highest_memory {
public:
  explicit highest_memory(const daemon_process& process)
      : process_(process), watch_([this] {
          while (!ended_) {
            highest_ = std::max(highest_, process_.memory());
            std::this_thread::sleep_for(milliseconds{5});
          }
        }) {}

  std::int64_t end() {
    ended_ = true;
    watch_.join();
    return std::max(highest_, process_.memory());
  }

private:
  const daemon_process& process_;
  std::atomic<bool> ended_ = false;
  std::int64_t highest_ = 0;
  std::thread watch_;
};

/// An `ApplyRequest` of that many workloads without anything in them.
std::string empty_workloads(int count) {
  std::string message;
  for (int i = 0; i < count; ++i)
    message += std::string("\x0a\x02\x2a\x00", 4);
  return message;
}

/// A `DeleteRequest` of workloads whose names have control characters.
std::string names_in_bulk(std::size_t bytes) {
  std::string message("\x08\x05", 2);
  while (message.size() < bytes)
    message += "\x12\x40" + std::string(64, '\x01');
  return message;
}

/// A `HeartbeatRequest` of nodes that are not there.
std::string unknown_nodes(int count) {
  std::string message;
  for (int i = 0; i < count; ++i) {
    const auto name = "nobody-" + std::to_string(100'000 + i);
    message += '\x0a';
    message += static_cast<char>(name.size());
    message += name;
  }
  return message;
}

/// A daemon that knows an admin, a submitter, a viewer, and eight more of these, `u0` and so on.
class gate : public testing::Test {
protected:
  void start(std::vector<std::string> options = {}) {
    const auto tokens = (data.path() / "tokens").string();
    std::ofstream file(tokens);
    file << "root admin token=root-has-this-token\n"
            "ci submitter queues=* token=ci-has-this-token\n"
            "eve viewer token=eve-has-this-token\n";
    for (const auto& who : viewers)
      file << who << " viewer token=" << who << "-has-this-token\n";
    file.close();
    options.insert(options.end(), {"--tokens", tokens, "--audit", audit()});
    daemon = std::make_unique<daemon_process>(data.path(), options);
    ASSERT_TRUE(daemon->serves()) << daemon->output();
    ASSERT_TRUE(serves_root());
    std::this_thread::sleep_for(milliseconds{300});
    idle = daemon->memory();
  }

  std::string audit() const {
    return (data.path() / "audit").string();
  }

  run_result as(const std::string& who, std::vector<std::string> command) const {
    command.insert(command.begin(), {"--token", who + "-has-this-token"});
    return daemon->cli(command);
  }

  static std::ptrdiff_t open_among(const std::vector<std::unique_ptr<raw_http2>>& connections) {
    return std::ranges::count_if(connections, [](const auto& one) { return one->open(); });
  }

  /// A connection of each of the first so many, on which it has made so many calls.
  std::vector<std::unique_ptr<raw_http2>>
  crowd(std::size_t callers, int calls, const std::function<void(raw_http2&, std::string)>& call,
        std::uint32_t window = 65'535) const {
    std::vector<std::unique_ptr<raw_http2>> all;
    for (std::size_t i = 0; i < callers; ++i) {
      all.push_back(std::make_unique<raw_http2>(daemon->address(), window));
      for (int k = 0; k < calls; ++k)
        call(*all.back(), viewers[i] + "-has-this-token");
    }
    std::this_thread::sleep_for(milliseconds{500}); // until all of it is there
    return all;
  }

  bool serves_root() const {
    return as("root", {"get", "queues"}).code == 0;
  }

  const std::vector<std::string> viewers{"u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7"};
  temporary_directory data;
  std::unique_ptr<daemon_process> daemon;
  std::int64_t idle = 0;
};

TEST_F(gate, requests_of_nobody_take_no_memory) {
  start();
  highest_memory memory(*daemon);
  const auto many = empty_workloads(1'000'000);
  const auto names = names_in_bulk(15 * mebibyte);
  for (int round = 0; round < 3; ++round) {
    raw_http2 one(daemon->address());
    std::vector<std::uint32_t> calls;
    for (const auto* method : {"Apply", "Delete", "Get", "Events", "Backup", "Heartbeat"})
      for (const auto* token : {"", "nobody-has-this-token"})
        for (const auto& message : {many, names})
          calls.push_back(one.ask(method, message, token));
    // Requests that are begun and never end.
    for (int i = 0; i < 25; ++i) {
      calls.push_back(one.begin("Apply"));
      one.send(calls.back(), raw_http2::framed(std::string(mebibyte, 'x'), 15 * mebibyte),
               milliseconds{50});
    }
    for (const auto call : calls)
      EXPECT_TRUE(one.ended(call, seconds{10})) << call;
  }
  EXPECT_LT(memory.end() - idle, 32 * mebibyte);
  EXPECT_LT(std::filesystem::file_size(audit()), 64U << 10U);
  EXPECT_TRUE(serves_root());
}

TEST_F(gate, a_call_whose_body_comes_after_its_caller_has_lost_its_role_is_refused) {
  start();
  raw_http2 one(daemon->address());
  // One byte of the request is missing.
  const auto message = raw_http2::framed(empty_workloads(1), empty_workloads(1).size());
  const auto revoked = one.begin("Apply", "ci-has-this-token");
  const auto stays = one.begin("Apply", "root-has-this-token");
  for (const auto call : {revoked, stays})
    EXPECT_EQ(one.send(call, std::string_view(message).substr(0, message.size() - 1)),
              message.size() - 1);
  std::this_thread::sleep_for(milliseconds{300}); // until both are let in
  const auto tokens = (data.path() / "tokens").string();
  std::ofstream(tokens + ".new") << "root admin token=root-has-this-token\n"
                                    "ci none token=ci-has-this-token\n";
  std::filesystem::rename(tokens + ".new", tokens);
  ASSERT_TRUE(
    within(seconds{10},
           [&] { return daemon->output().find("has changed and is in use") != std::string::npos; }))
    << daemon->output();
  for (const auto call : {revoked, stays}) {
    one.send(call, std::string_view(message).substr(message.size() - 1), seconds{2}, true);
    EXPECT_TRUE(one.ended(call, seconds{10})) << call;
  }
  std::istringstream lines(file_contents(audit()));
  std::vector<std::string> refused;
  for (std::string line; std::getline(lines, line);)
    if (line.find(R"("stage":"refused")") != std::string::npos)
      refused.push_back(line);
  ASSERT_EQ(refused.size(), 1U) << file_contents(audit());
  EXPECT_NE(refused[0].find(R"("who":"ci","role":"none")"), std::string::npos) << refused[0];
  EXPECT_NE(refused[0].find("ci (none) may not call Apply"), std::string::npos) << refused[0];
  EXPECT_NE(file_contents(audit()).find(R"("stage":"begun","who":"root")"), std::string::npos);
}

TEST_F(gate, a_request_that_would_take_much_more_than_its_bytes_is_refused) {
  start();
  highest_memory memory(*daemon);
  raw_http2 one(daemon->address());
  for (const auto* method : {"Apply", "Apply", "Apply"})
    EXPECT_TRUE(
      one.ended(one.ask(method, empty_workloads(1'000'000), "ci-has-this-token"), seconds{20}));
  EXPECT_LT(memory.end() - idle, 64 * mebibyte);
  EXPECT_TRUE(serves_root());
}

TEST_F(gate, unfinished_requests_end_after_a_while) {
  start({"--request-seconds", "2"});
  highest_memory memory(*daemon);
  raw_http2 one(daemon->address());
  std::vector<std::uint32_t> calls;
  for (int i = 0; i < 25; ++i) {
    calls.push_back(one.begin("Apply", "ci-has-this-token"));
    one.send(calls.back(), raw_http2::framed(std::string(4 * mebibyte, 'x'), 15 * mebibyte),
             milliseconds{200});
  }
  // Others have their turn meanwhile.
  EXPECT_TRUE(serves_root());
  for (const auto call : calls)
    EXPECT_TRUE(one.ended(call, seconds{10})) << call;
  EXPECT_LT(memory.end() - idle, 200 * mebibyte);
  EXPECT_TRUE(as("ci", {"get", "queues"}).code == 0);
}

TEST_F(gate, answers_that_nobody_takes_are_bounded_and_cut_off) {
  start({"--answer-seconds", "2"});
  std::ofstream nodes((data.path() / "nodes.yaml").string());
  for (int i = 0; i < 8000; ++i)
    nodes << "kind: Node\nmetadata: {name: n" << i << ", labels: {rack: " << std::string(60, 'r')
          << "}}\nspec: {capacity: {cpu: 8}}\n---\n";
  nodes.close();
  const auto applied = as("root", {"apply", "-f", (data.path() / "nodes.yaml").string()});
  ASSERT_EQ(applied.code, 0) << applied.output;
  const auto before = daemon->memory();
  highest_memory memory(*daemon);
  raw_http2 closed(daemon->address(), 0);
  std::vector<std::uint32_t> calls;
  for (int i = 0; i < 60; ++i)
    calls.push_back(closed.ask("Get", std::string("\x08\x01", 2), "eve-has-this-token"));
  EXPECT_TRUE(serves_root());
  for (const auto call : calls)
    EXPECT_TRUE(closed.ended(call, seconds{10})) << call;
  EXPECT_LT(memory.end() - before, 160 * mebibyte);
  EXPECT_EQ(as("eve", {"get", "queues"}).code, 0);
}

TEST_F(gate, callers_who_begin_requests_and_send_nothing_leave_others_their_turn) {
  start({"--request-seconds", "20"});
  const auto silent =
    crowd(8, 30, [](raw_http2& on, const std::string& token) { on.begin("Get", token); });
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_EQ(as("eve", {"get", "queues"}).code, 0);
  EXPECT_TRUE(serves_root());
  EXPECT_LT(std::chrono::steady_clock::now() - asked, seconds{5});
}

TEST_F(gate, callers_who_take_no_answers_leave_others_room_for_theirs) {
  start({"--unread-bytes", "8388608", "--unread-bytes-per-client", "2097152"});
  std::ofstream nodes((data.path() / "nodes.yaml").string());
  for (int i = 0; i < 500; ++i)
    nodes << "kind: Node\nmetadata: {name: n" << i << ", labels: {rack: " << std::string(60, 'r')
          << "}}\nspec: {capacity: {cpu: 8}}\n---\n";
  nodes.close();
  ASSERT_EQ(as("root", {"apply", "-f", (data.path() / "nodes.yaml").string()}).code, 0);
  const auto closed = crowd(
    8, 60,
    [](raw_http2& on, const std::string& token) {
      on.ask("Get", std::string("\x08\x01", 2), token);
    },
    0);
  std::this_thread::sleep_for(seconds{1});
  const auto got = as("eve", {"get", "nodes"});
  EXPECT_EQ(got.code, 0) << got.output.substr(0, 500);
}

TEST_F(gate, callers_with_as_many_streams_as_they_may_have_leave_others_theirs) {
  start({"--streams", "16", "--streams-per-client", "4"});
  const auto watching = crowd(6, 4, [](raw_http2& on, const std::string& token) {
    on.ask("Events", std::string("\x08\x01", 2), token);
  });
  const auto got = as("eve", {"events"});
  EXPECT_EQ(got.code, 0) << got.output;
}

TEST_F(gate, an_agent_that_takes_no_answers_is_not_read_on_and_cut_off) {
  start({"--answer-seconds", "3"});
  highest_memory memory(*daemon);
  raw_http2 closed(daemon->address(), 0);
  std::vector<std::uint32_t> calls;
  const auto message = unknown_nodes(4000);
  std::string many;
  for (int i = 0; i < 20; ++i)
    many += raw_http2::framed(message, message.size());
  for (int i = 0; i < 20; ++i) {
    calls.push_back(closed.begin("Heartbeat", "root-has-this-token"));
    closed.send(calls.back(), many, milliseconds{200});
  }
  for (const auto call : calls)
    EXPECT_TRUE(closed.ended(call, seconds{10})) << call;
  EXPECT_LT(memory.end() - idle, 64 * mebibyte);
  EXPECT_EQ(as("root", {"heartbeat", "nobody"}).output, "reprieve: there is no node nobody\n");
}

TEST_F(gate, a_message_of_heartbeats_is_bounded_and_so_is_its_answer) {
  start();
  raw_http2 one(daemon->address());
  // More than a window of names, of which the first are told.
  const auto told = one.ask("Heartbeat", unknown_nodes(40'000), "root-has-this-token");
  EXPECT_TRUE(one.ended(told, seconds{5}));
  const auto call = one.begin("Heartbeat", "root-has-this-token");
  const auto large = unknown_nodes(100'000);
  one.send(call, raw_http2::framed(large, large.size()), seconds{5});
  EXPECT_TRUE(one.ended(call, seconds{5}));
  EXPECT_TRUE(serves_root());
}

TEST_F(gate, connections_beyond_what_there_may_be_do_no_harm) {
  start({"--connections", "100", "--connections-per-host", "80"});
  {
    std::vector<std::unique_ptr<raw_http2>> idle_ones;
    for (int i = 0; i < 400; ++i)
      idle_ones.push_back(std::make_unique<raw_http2>(daemon->address()));
    EXPECT_TRUE(within(seconds{5}, [&] { return open_among(idle_ones) <= 32; }))
      << daemon->output();
    EXPECT_NE(daemon->output().find("were turned away"), std::string::npos) << daemon->output();
    EXPECT_TRUE(within(seconds{5}, [&] { return serves_root(); })) << daemon->output();
  }
  EXPECT_TRUE(within(seconds{5}, [&] { return serves_root(); })) << daemon->output();
}

TEST_F(gate, connections_of_which_nobody_knows_whose_they_are_end_after_a_while) {
  start();
  highest_memory memory(*daemon);
  std::vector<std::unique_ptr<raw_http2>> idle_ones;
  for (int i = 0; i < 2000; ++i)
    idle_ones.push_back(std::make_unique<raw_http2>(daemon->address()));
  EXPECT_TRUE(within(seconds{2}, [&] { return open_among(idle_ones) <= 500; }));
  EXPECT_TRUE(within(seconds{5}, [&] { return serves_root(); })) << daemon->output();
  raw_http2 known(daemon->address());
  EXPECT_TRUE(
    known.ended(known.ask("Get", std::string("\x08\x01", 2), "eve-has-this-token"), seconds{5}));
  EXPECT_TRUE(within(seconds{15}, [&] { return open_among(idle_ones) == 0; }));
  EXPECT_TRUE(known.open());
  EXPECT_LT(memory.end() - idle, 32 * mebibyte);
}

TEST_F(gate, connections_whose_calls_are_begun_and_reset_again_and_again_end) {
  start();
  highest_memory memory(*daemon);
  for (int round = 0; round < 100; ++round) {
    raw_http2 one(daemon->address());
    for (int i = 0; i < 1000 && one.open(); ++i)
      one.reset(one.begin("Get"));
    EXPECT_TRUE(within(seconds{5}, [&] { return !one.open(); }));
  }
  // What was read by the time that its end was decided: gRPC keeps some 50 KB for each of them.
  EXPECT_LT(memory.end() - idle, 256 * mebibyte);
  EXPECT_TRUE(serves_root());
}

TEST_F(gate, a_header_without_an_end_is_cut_off) {
  start();
  highest_memory memory(*daemon);
  for (int round = 0; round < 8; ++round) {
    raw_http2 one(daemon->address());
    one.begin_endless_header();
    EXPECT_TRUE(within(seconds{5}, [&] {
      one.go_on_with_header(16'000);
      return !one.open();
    }));
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_TRUE(serves_root());
    EXPECT_LT(std::chrono::steady_clock::now() - asked, seconds{2});
  }
  EXPECT_LT(memory.end() - idle, 32 * mebibyte);
}

TEST_F(gate, compressed_messages_are_refused_and_not_unpacked) {
  start();
  const auto packed = (data.path() / "packed").string();
  ASSERT_EQ(std::system(("head -c 300M /dev/zero | gzip -1 > " + packed).c_str()), 0);
  std::ostringstream body;
  body << std::ifstream(packed, std::ios::binary).rdbuf();
  auto message = raw_http2::framed(body.str(), body.str().size());
  message.front() = '\1'; // it is compressed
  highest_memory memory(*daemon);
  raw_http2 one(daemon->address());
  for (int i = 0; i < 3; ++i) {
    const auto call = one.begin("Get", "eve-has-this-token", {{"grpc-encoding", "gzip"}});
    one.send(call, message, seconds{5}, true);
    EXPECT_TRUE(one.ended(call, seconds{10}));
  }
  EXPECT_LT(memory.end() - idle, 32 * mebibyte);
  EXPECT_TRUE(serves_root());
}

TEST_F(gate, names_of_any_length_cost_what_they_are_long) {
  start();
  highest_memory memory(*daemon);
  std::string name;
  while (name.size() < 60'000)
    name += "a-";
  for (const auto& call : {std::vector<std::string>{"explain", "pod", name},
                           {"explain", "workload", name},
                           {"describe", "pod", name},
                           {"get", "pod", name}}) {
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_NE(as("eve", call).code, 0);
    EXPECT_LT(std::chrono::steady_clock::now() - asked, seconds{2}) << call.front();
  }
  EXPECT_LT(memory.end() - idle, 32 * mebibyte);
}

TEST_F(gate, names_of_a_submitter_do_not_fill_the_audit_file) {
  start();
  raw_http2 one(daemon->address());
  const auto names = names_in_bulk(12 * mebibyte);
  EXPECT_TRUE(one.ended(one.ask("Delete", names, "ci-has-this-token"), seconds{20}));
  EXPECT_LT(std::filesystem::file_size(audit()), 3U << 20U);
  EXPECT_TRUE(serves_root());
}

TEST_F(gate, accepts_again_after_the_process_had_no_descriptors_left) {
  start();
  const rlimit few{256, 256};
  ASSERT_EQ(prlimit(daemon->id(), RLIMIT_NOFILE, &few, nullptr), 0);
  {
    std::vector<std::unique_ptr<raw_http2>> idle_ones;
    for (int i = 0; i < 400; ++i)
      idle_ones.push_back(std::make_unique<raw_http2>(daemon->address()));
    std::this_thread::sleep_for(seconds{1});
  }
  EXPECT_TRUE(within(seconds{5}, [&] { return serves_root(); })) << daemon->output();
  EXPECT_EQ(daemon->stop(), 0);
}

} // namespace

} // namespace reprieve
