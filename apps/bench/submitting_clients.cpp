#include "apps/bench/submitting_clients.hpp"

#include "protocol/messages/convert_requests.hpp"
#include "testbed/stored/stored_cluster.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/api.grpc.pb.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace reprieve {

namespace {

using clock = std::chrono::steady_clock;

/// Those that share a connection are as those of one machine.
constexpr std::size_t clients_of_a_connection = 16;

/// Waits for all clients to end, and counts what they did.
class tally {
public:
  explicit tally(std::size_t clients) : open_(clients) {}

  void end(const submit_account& of_one) {
    const std::lock_guard lock(mutex_);
    sum_.accepted += of_one.accepted;
    sum_.failed += of_one.failed;
    if (--open_ == 0)
      ended_.notify_all();
  }

  submit_account wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return open_ == 0; });
    return sum_;
  }

private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t open_;
  submit_account sum_;
};

/// One that submits, one call at a time: the next when the one before is answered. It costs little,
/// for it stands for somebody on another machine. The count of its workloads outlasts an order.
class submitter {
public:
  submitter(std::shared_ptr<grpc::Channel> server, std::size_t number)
      : server_(v1::Reprieve::NewStub(std::move(server))), number_(number) {}

  void begin(tally& all, clock::time_point end) {
    all_ = &all;
    end_ = end;
    account_ = {};
    next();
  }

private:
  void next() {
    if (clock::now() >= end_) {
      all_->end(account_);
      return;
    }
    apply_request wanted;
    wanted.objects.emplace_back(submitting_clients::usual(number_, submitted_++));
    call_ = std::make_unique<call>();
    call_->request = to_proto(wanted);
    call_->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{30});
    server_->async()->Apply(&call_->context, &call_->request, &call_->response,
                            [this](const grpc::Status& how) {
                              ++(how.ok() ? account_.accepted : account_.failed);
                              next();
                            });
  }

  struct call {
    grpc::ClientContext context;
    v1::ApplyRequest request;
    v1::ApplyResponse response;
  };

  std::unique_ptr<v1::Reprieve::Stub> server_;
  std::size_t number_;
  std::size_t submitted_ = 0;
  tally* all_ = nullptr;
  clock::time_point end_;
  submit_account account_;
  std::unique_ptr<call> call_;
};

using crowd = std::vector<std::unique_ptr<submitter>>;

std::shared_ptr<grpc::Channel> connect(const std::string& address) {
  grpc::ChannelArguments own;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1); // a connection of its own
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own);
}

submit_account carry_out(const submit_order& order, crowd& clients) {
  std::shared_ptr<grpc::Channel> server;
  while (clients.size() < order.clients) {
    if (clients.size() % clients_of_a_connection == 0)
      server = connect(order.address);
    clients.push_back(std::make_unique<submitter>(server, clients.size()));
  }
  tally all(clients.size());
  const auto began = clock::now();
  for (auto& one : clients)
    one->begin(all, began + std::chrono::milliseconds{order.milliseconds});
  auto account = all.wait();
  account.seconds = std::chrono::duration<double>(clock::now() - began).count();
  return account;
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
