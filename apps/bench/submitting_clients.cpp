#include "apps/bench/submitting_clients.hpp"

#include "apps/bench/stored_cluster.hpp"
#include "protocol/api_client.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace reprieve {

namespace {

using clock = std::chrono::steady_clock;

/// One that submits; its connection and the count of its workloads outlast an order.
struct submitter {
  submitter(const std::string& address, std::size_t number)
      : server(client_options{{address}}), number(number) {}

  api_client server;
  std::size_t number;
  std::size_t submitted = 0;
};

using crowd = std::vector<std::unique_ptr<submitter>>;

submit_account carry_out(const submit_order& order, crowd& clients) {
  while (clients.size() < order.clients)
    clients.push_back(std::make_unique<submitter>(order.address, clients.size()));
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> failed = 0;
  const auto began = clock::now();
  const auto end = began + std::chrono::milliseconds{order.milliseconds};
  std::vector<std::thread> threads;
  for (auto& one : clients)
    threads.emplace_back([&] {
      while (clock::now() < end) {
        apply_request request;
        request.objects.emplace_back(submitting_clients::usual(one->number, one->submitted++));
        ++(one->server.apply(request).ok() ? accepted : failed);
      }
    });
  for (auto& one : threads)
    one.join();
  return {accepted, failed, std::chrono::duration<double>(clock::now() - began).count()};
}

} // namespace

submitting_clients::submitting_clients()
    : process_([clients = std::make_shared<crowd>()](const submit_order& order) {
        return carry_out(order, *clients);
      }) {}

std::optional<submit_account> submitting_clients::submit(const std::string& address,
                                                         std::size_t clients,
                                                         std::size_t milliseconds) {
  submit_order order;
  address.copy(order.address, sizeof order.address - 1);
  order.clients = clients;
  order.milliseconds = milliseconds;
  return process_.carry_out(order);
}

workload submitting_clients::usual(std::size_t client, std::size_t number) {
  auto made = stored_cluster::lone_pod(fmt::format("train-resnet-{:03}-{:06}", client, number), 0);
  made.labels = {{"app", "train-resnet"}, {"team", "vision"}, {"run", fmt::format("r{}", number)}};
  auto& pods = made.groups.front().pods;
  pods.labels = {{"app", "train-resnet"}, {"role", "worker"}};
  pods.annotations = {{"image", "registry.example/vision/train-resnet:2026-11"}};
  pods.tolerations.push_back({"dedicated", false, "training", {}});
  return made;
}

} // namespace reprieve
