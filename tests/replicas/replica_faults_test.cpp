#include "protocol/client/api_client.hpp"
#include "tests/replicas/load.hpp"
#include "tests/replicas/operators.hpp"
#include "tests/replicas/replica_cluster.hpp"
#include "tests/replicas/verdict.hpp"
#include "tests/support/etcd_process.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <list>
#include <random>
#include <thread>

namespace reprieve::replicas {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Does harm to a cluster, again and again, and mends it; harm overlaps.
class trouble {
public:
  trouble(replica_cluster& cluster, std::uint64_t seed) : cluster_(cluster), luck_(seed) {}

  void run(int faults) {
    for (done_ = 0; done_ < faults; ++done_) {
      mend_due();
      begin(done_);
      std::this_thread::sleep_for(milliseconds{between(3500, 6500)});
    }
    while (!mending_.empty()) {
      std::this_thread::sleep_for(milliseconds{50});
      mend_due();
    }
  }

private:
  struct repair {
    clock::time_point due;
    std::function<void()> what;
    std::string of;
  };

  int between(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(luck_);
  }

  void mend_due() {
    for (auto one = mending_.begin(); one != mending_.end();) {
      if (one->due > clock::now()) {
        ++one;
        continue;
      }
      one->what();
      one = mending_.erase(one);
    }
  }

  bool is_harmed(const std::string& what) const {
    return std::ranges::any_of(mending_, [&](const repair& one) { return one.of == what; });
  }

  void mend_after(milliseconds time, const std::string& of, std::function<void()> what) {
    mending_.push_back({clock::now() + time, std::move(what), of});
  }

  void say(const std::string& what) const {
    fmt::print("fault {:>3}: {}\n", done_ + 1, what);
    std::fflush(stdout);
  }

  /// Each replica in turn, in each way in turn; at most one etcd member is away at a time.
  void begin(int number) {
    const int which = number % replica_cluster::count;
    const auto replica = fmt::format("replica {}", which);
    for (int i = 0; i < 200 && is_harmed(replica); ++i) {
      std::this_thread::sleep_for(milliseconds{50});
      mend_due();
    }
    switch ((number / replica_cluster::count) % 6) {
    case 0:
      say(fmt::format("kill -9 of {}", replica));
      cluster_.kill_replica(which);
      mend_after(milliseconds{between(500, 5000)}, replica,
                 [this, which] { cluster_.start_replica(which); });
      break;
    case 1:
      harm_etcd();
      break;
    case 2:
      say(fmt::format("{} is stopped for three leases", replica));
      cluster_.signal_replica(which, SIGSTOP);
      mend_after(3 * cluster_.lease(), replica,
                 [this, which] { cluster_.signal_replica(which, SIGCONT); });
      break;
    case 3:
      say(fmt::format("{} is cut off from etcd", replica));
      cluster_.cut_from_etcd(which, true);
      mend_after(milliseconds{between(1000, 7000)}, replica,
                 [this, which] { cluster_.cut_from_etcd(which, false); });
      break;
    case 4:
      say(fmt::format("{} is cut off from its peers", replica));
      cluster_.cut_from_peers(which, true);
      mend_after(milliseconds{between(1000, 7000)}, replica,
                 [this, which] { cluster_.cut_from_peers(which, false); });
      break;
    default:
      say(fmt::format("{} is ended by its operator", replica));
      cluster_.stop_replica(which);
      mend_after(milliseconds{between(200, 2000)}, replica,
                 [this, which] { cluster_.start_replica(which); });
      break;
    }
  }

  void harm_etcd() {
    for (int i = 0; i < 200 && is_harmed("etcd"); ++i) {
      std::this_thread::sleep_for(milliseconds{50});
      mend_due();
    }
    const int leader = std::max(cluster_.etcd_leader(), 0);
    const auto chance = between(0, 2);
    if (chance == 2) {
      // Writes that came to it hang, and arrive when it goes on.
      const int follower = (leader + between(1, 2)) % 3;
      say(fmt::format("etcd's member {}, which follows, is stopped", follower));
      cluster_.signal_etcd(follower, SIGSTOP);
      mend_after(milliseconds{between(1000, 8000)}, "etcd",
                 [this, follower] { cluster_.signal_etcd(follower, SIGCONT); });
    } else if (chance == 0) {
      say(fmt::format("kill -9 of etcd's leader, member {}", leader));
      cluster_.kill_etcd(leader);
      mend_after(milliseconds{between(500, 4000)}, "etcd",
                 [this, leader] { cluster_.start_etcd(leader); });
    } else {
      say(fmt::format("etcd's leader, member {}, is stopped", leader));
      cluster_.signal_etcd(leader, SIGSTOP);
      mend_after(milliseconds{between(1000, 5000)}, "etcd",
                 [this, leader] { cluster_.signal_etcd(leader, SIGCONT); });
    }
  }

  replica_cluster& cluster_;
  std::mt19937_64 luck_;
  std::list<repair> mending_;
  int done_ = 0;
};

void run_faults(int faults) {
  if (!etcd_process::available())
    GTEST_SKIP() << "there is no etcd to start";
  api_client::silence_transport();
  // With a short memory of etcd's, so that watches find their place gone when they come back.
  replica_cluster cluster({.more = {"--etcd-history", "3"}});
  ASSERT_TRUE(cluster.serves()) << cluster.output();
  ASSERT_EQ(set_up(cluster.servers()), "") << cluster.output();
  load people(cluster.servers(), 6);
  std::this_thread::sleep_for(seconds{2});
  operators beside(cluster.servers());
  trouble(cluster, 42).run(faults);
  fmt::print("{} faults\n", faults);
  beside.end();
  for (const auto& [what, times] : beside.done())
    fmt::print("{}: {}\n", what, times);
  for (const auto& wrong : beside.complaints())
    ADD_FAILURE() << wrong;
  check_all(cluster, people, 20 * faults, faults);
}

int many() {
  if (const char* given = std::getenv("REPRIEVE_FAULTS"))
    return std::atoi(given);
  return std::getenv("REPRIEVE_LONG") != nullptr ? 200 : 60;
}

} // namespace

TEST(replicas, lose_nothing_and_do_nothing_twice_in_a_few_faults) {
  run_faults(7);
}

TEST(replicas, lose_nothing_and_do_nothing_twice_in_many_faults) {
  run_faults(many());
}

} // namespace reprieve::replicas
