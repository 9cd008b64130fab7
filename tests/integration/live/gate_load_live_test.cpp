// Honest callers beside many who are not: what these see of it.

#include "protocol/client/api_client.hpp"
#include "tests/integration/daemon.hpp"
#include "tests/support/raw_http2.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int idle_connections = 1800;
constexpr int attackers = 200;
constexpr int submitters = 50;

seconds load_time() {
  return std::getenv("REPRIEVE_LONG") != nullptr ? seconds{300} : seconds{15};
}

/// A connection on which nothing more is said than that it speaks HTTP/2, or not even that.
class idle_connection {
public:
  idle_connection(const std::string& address, bool says_something) {
    const auto colon = address.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      return;
    constexpr std::string_view preface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
    if (says_something)
      (void)send(socket_, preface.data(), preface.size(), MSG_NOSIGNAL);
  }
  ~idle_connection() {
    close(socket_);
  }
  idle_connection(const idle_connection&) = delete;
  idle_connection& operator=(const idle_connection&) = delete;

private:
  int socket_ = -1;
};

/// All that an attacker does, one after the other, until it is to end.
void attack(const std::string& address, unsigned seed, const std::atomic<bool>& ended) {
  std::mt19937 random(seed);
  std::string empty;
  for (int i = 0; i < 250'000; ++i)
    empty += std::string("\x0a\x02\x2a\x00", 4);
  const std::string all_nodes("\x08\x01", 2);
  while (!ended) {
    raw_http2 one(address, random() % 2 == 0 ? 0 : 65'535);
    switch (random() % 7) {
    case 0: // much that takes more memory than it has bytes, of nobody
      for (int i = 0; i < 5; ++i)
        one.ask("Apply", empty);
      break;
    case 1: // the same of somebody who may only look
      for (int i = 0; i < 5; ++i)
        one.ask("Delete", empty, "eve-has-this-token");
      break;
    case 2: // begun and never ended
      for (int i = 0; i < 10; ++i)
        one.send(one.begin("Get", "eve-has-this-token"),
                 raw_http2::framed(std::string(60'000, 'x'), 15 << 20), milliseconds{50});
      break;
    case 3: // asked for and never taken
      for (int i = 0; i < 10; ++i)
        one.ask("Get", all_nodes, "eve-has-this-token");
      break;
    case 4: // calls that are no calls
      for (int i = 0; i < 20; ++i)
        one.ask("Nothing" + std::string(random() % 5000, 'x'), {});
      break;
    case 5: { // bytes that are no messages
      std::string noise(20'000, '\0');
      for (auto& byte : noise)
        byte = static_cast<char>(random());
      for (const auto* method : {"Get", "Describe", "Explain", "Events"})
        one.ask(method, noise, "eve-has-this-token");
      break;
    }
    default: // watches that nobody reads
      for (int i = 0; i < 10; ++i)
        one.ask("Events", std::string("\x08\x01", 2), "eve-has-this-token");
    }
    std::this_thread::sleep_for(milliseconds{random() % 2000});
  }
}

/// What honest callers met with.
struct experience {
  std::mutex mutex;
  std::vector<milliseconds> gets;
  std::vector<std::string> errors;

  void failed(const absl::Status& how) {
    const std::lock_guard lock(mutex);
    errors.emplace_back(how.ToString());
  }
};

workload small_job(const std::string& name) {
  workload job;
  job.name = name;
  job.resource_group = "default";
  job.queue = "default";
  pod_group workers;
  workers.name = "w";
  workers.count = 1;
  job.groups.push_back(workers);
  return job;
}

void submit(const std::string& address, int number, const std::atomic<bool>& ended,
            experience& met) {
  api_client server({{address}, {}, "ci-has-this-token"});
  for (int i = 0; !ended; ++i) {
    const auto name = "job-" + std::to_string(number) + "-" + std::to_string(i);
    if (const auto applied = server.apply({{small_job(name)}}); !applied.ok())
      met.failed(applied.status());
    const auto began = steady_clock::now();
    const auto found = server.get({object_kind::workload, name, {}, {}});
    const auto took = std::chrono::round<milliseconds>(steady_clock::now() - began);
    if (!found.ok())
      met.failed(found.status());
    {
      const std::lock_guard lock(met.mutex);
      met.gets.push_back(took);
    }
    if (const auto gone = server.remove({object_kind::workload, {name}}); !gone.ok())
      met.failed(gone);
    std::this_thread::sleep_for(milliseconds{300});
  }
}

TEST(gate_under_load, honest_callers_see_nothing_of_two_hundred_who_are_not) {
  const temporary_directory data;
  const auto tokens = (data.path() / "tokens").string();
  std::ofstream(tokens) << "root admin token=root-has-this-token\n"
                           "ci submitter queues=* token=ci-has-this-token\n"
                           "eve viewer token=eve-has-this-token\n";
  daemon_process daemon(data.path(),
                        {"--tokens", tokens, "--audit", (data.path() / "audit").string(),
                         "--request-seconds", "5", "--answer-seconds", "5"});
  ASSERT_TRUE(daemon.serves()) << daemon.output();
  std::ofstream nodes((data.path() / "nodes.yaml").string());
  nodes << "kind: Queue\nmetadata: {name: default}\nspec: {weight: 1}\n---\n";
  for (int i = 0; i < 500; ++i)
    nodes << "kind: Node\nmetadata: {name: n" << i << ", labels: {rack: " << std::string(60, 'r')
          << "}}\nspec: {capacity: {cpu: 8}}\n---\n";
  nodes.close();
  const auto made = daemon.cli(
    {"--token", "root-has-this-token", "apply", "-f", (data.path() / "nodes.yaml").string()});
  ASSERT_EQ(made.code, 0) << made.output;

  experience met;
  const auto memory = [&] { return daemon.memory(); };
  std::atomic<bool> over = false;
  std::vector<std::thread> honest;
  for (int i = 0; i < submitters; ++i)
    honest.emplace_back([&, i] { submit(daemon.address(), i, over, met); });
  std::this_thread::sleep_for(seconds{3}); // what honest callers need stays in use
  const auto before = memory();

  std::atomic<bool> ended = false;
  std::vector<std::thread> others;
  for (int i = 0; i < attackers; ++i)
    others.emplace_back([&, i] { attack(daemon.address(), static_cast<unsigned>(i), ended); });
  const auto end = steady_clock::now() + load_time();
  while (steady_clock::now() < end) {
    std::vector<std::unique_ptr<idle_connection>> idle;
    for (int i = 0; i < idle_connections; ++i)
      idle.push_back(std::make_unique<idle_connection>(daemon.address(), i % 3 != 0));
    std::this_thread::sleep_until(std::min(end, steady_clock::now() + seconds{40}));
  }
  ended = true;
  for (auto& one : others)
    one.join();

  EXPECT_TRUE(within(seconds{40}, [&] { return memory() - before < std::int64_t{64} << 20; }))
    << before << " bytes before, " << memory() << " after";
  over = true;
  for (auto& one : honest)
    one.join();
  EXPECT_TRUE(met.errors.empty()) << met.errors.size() << " errors, such as " << met.errors.front();
  ASSERT_GT(met.gets.size(), 500U);
  std::sort(met.gets.begin(), met.gets.end());
  const auto p99 = met.gets[met.gets.size() * 99 / 100];
  EXPECT_LT(p99, milliseconds{200});
  RecordProperty("p99 of get in ms", static_cast<int>(p99.count()));
  std::printf(
    "%zu gets, p50 %ld ms, p99 %ld ms, longest %ld ms; memory %ld MiB before, %ld after\n",
    met.gets.size(), static_cast<long>(met.gets[met.gets.size() / 2].count()),
    static_cast<long>(p99.count()), static_cast<long>(met.gets.back().count()),
    static_cast<long>(before >> 20), static_cast<long>(memory() >> 20));
  EXPECT_EQ(daemon.stop(), 0);
}

} // namespace

} // namespace reprieve
