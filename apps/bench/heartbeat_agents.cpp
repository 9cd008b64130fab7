#include "apps/bench/heartbeat_agents.hpp"

#include "apps/bench/process_figures.hpp"
#include "protocol/client/api_client.hpp"
#include "state/containers/row_index.hpp"
#include "testbed/stored/stored_cluster.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace reprieve {

namespace {

using clock = std::chrono::steady_clock;

/// One agent: speaks for every so-manieth node, in turn. Its connection outlasts an order.
class agent {
public:
  agent(const agent_order& order, std::size_t number)
      : server_(client_options{{order.address}}), number_(number), agents_(order.wanted.agents) {
    for (auto n = number; n < order.wanted.nodes; n += agents_)
      names_.push_back(stored_cluster::node_name(n));
  }

  void speak(const agent_traffic& wanted, std::atomic<std::uint64_t>& heartbeats,
             std::atomic<std::uint64_t>& failed) {
    if (names_.empty())
      return;
    const auto call = server_.heartbeats([&](const auto&) { ++failed; });
    std::uint64_t sent = 0;
    const auto say = [&] {
      heartbeat_request alive;
      for (std::size_t i = 0; i < std::min(wanted.per_message, names_.size()); ++i)
        alive.nodes.push_back(names_[next_++ % names_.size()]);
      sent += alive.nodes.size();
      return call->send(alive);
    };
    if (wanted.rounds > 0)
      for (const auto all = names_.size() * wanted.rounds; sent < all && say();) {
      }
    else
      keep_saying(wanted, say);
    if (call->end().ok()) // then all of them are taken in
      heartbeats += sent;
    else
      ++failed;
  }

private:
  /// A message of each agent comes so often; they begin at different moments of that time.
  template <class F>
  void keep_saying(const agent_traffic& wanted, F say) const {
    const std::chrono::nanoseconds pause{1'000'000'000 * agents_ * wanted.per_message
                                         / wanted.per_second};
    const auto began = clock::now();
    auto due = began + pause * number_ / agents_;
    for (const auto end = began + std::chrono::seconds{wanted.seconds}; due < end; due += pause) {
      std::this_thread::sleep_until(due);
      if (!say())
        return;
    }
  }

  api_client server_;
  std::size_t number_;
  std::size_t agents_;
  std::vector<std::string> names_;
  std::size_t next_ = 0;
};

using crowd = std::vector<std::unique_ptr<agent>>;

/// Asks for one node at a time, and notes how long each answer takes.
std::vector<double> ask(const agent_order& order, std::atomic<std::uint64_t>& failed) {
  using milliseconds = std::chrono::duration<double, std::milli>;
  const auto& wanted = order.wanted;
  api_client server(client_options{{order.address}});
  std::vector<double> times;
  const auto pause = std::chrono::nanoseconds{1'000'000'000 / wanted.gets_per_second};
  auto due = clock::now();
  for (const auto end = due + std::chrono::seconds{wanted.seconds}; due < end; due += pause) {
    std::this_thread::sleep_until(due);
    const auto name = stored_cluster::node_name(mix(7, times.size()) % wanted.nodes);
    const auto began = clock::now();
    const auto found = server.get({object_kind::node, name, {}, {}});
    times.push_back(milliseconds(clock::now() - began).count());
    if (!found.ok() || found->size() != 1)
      ++failed;
  }
  return times;
}

agent_account carry_out(const agent_order& order, crowd& agents) {
  const auto& wanted = order.wanted;
  std::atomic<std::uint64_t> heartbeats = 0;
  std::atomic<std::uint64_t> failed = 0;
  while (agents.size() < wanted.agents)
    agents.push_back(std::make_unique<agent>(order, agents.size()));
  std::vector<std::thread> speaking;
  if (wanted.per_second > 0 || wanted.rounds > 0)
    for (auto& one : agents)
      speaking.emplace_back([&] { one->speak(wanted, heartbeats, failed); });
  std::vector<double> times;
  if (wanted.gets_per_second > 0)
    times = ask(order, failed);
  for (auto& one : speaking)
    one.join();
  agent_account account;
  account.heartbeats = heartbeats;
  account.failed = failed;
  account.gets = times.size();
  if (!times.empty()) {
    std::ranges::sort(times);
    account.get_p50_ms = percentile(times, 50);
    account.get_p99_ms = percentile(times, 99);
    account.get_max_ms = times.back();
  }
  return account;
}

} // namespace

heartbeat_agents::heartbeat_agents()
    : process_([agents = std::make_shared<crowd>()](const agent_order& order) {
        return carry_out(order, *agents);
      }) {}

std::optional<agent_account> heartbeat_agents::play(const std::string& address,
                                                    const agent_traffic& wanted) {
  agent_order order;
  order.wanted = wanted;
  address.copy(order.address, sizeof order.address - 1);
  return process_.carry_out(order);
}

} // namespace reprieve
