#include "state/etcd_channel.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <utility>

namespace reprieve {

namespace {

grpc::ChannelArguments arguments() {
  grpc::ChannelArguments arguments;
  // A write must not be repeated behind our back.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // The answer to a read of many keys has no limit of its own.
  arguments.SetMaxReceiveMessageSize(-1);
  // Finds out that a connection is dead though nothing is said on it; etcd takes offence at more
  // than one ping in 5 s.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> credentials(const etcd_options& options) {
  if (!options.tls)
    return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = options.tls->certificate_authority,
                               .pem_private_key = options.tls->key,
                               .pem_cert_chain = options.tls->certificate});
}

} // namespace

etcd_member_stubs::etcd_member_stubs(const std::shared_ptr<grpc::Channel>& channel)
    : keys(etcdserverpb::KV::NewStub(channel)), watches(etcdserverpb::Watch::NewStub(channel)),
      leases(etcdserverpb::Lease::NewStub(channel)), users(etcdserverpb::Auth::NewStub(channel)),
      maintenance(etcdserverpb::Maintenance::NewStub(channel)) {}

etcd_channel::etcd_channel(std::shared_ptr<event_thread> thread, etcd_options options)
    : thread_(std::move(thread)), options_(std::move(options)) {
  const auto trust = credentials(options_);
  for (const auto& endpoint : options_.endpoints)
    members_.emplace_back(grpc::CreateCustomChannel(endpoint, trust, arguments()));
}

std::unique_ptr<grpc::ClientContext> etcd_channel::context() const {
  auto made = std::make_unique<grpc::ClientContext>();
  // A member that is cut off from its leader refuses, instead of letting us wait.
  made->AddMetadata("hasleader", "true");
  if (!token_.empty())
    made->AddMetadata("token", token_);
  return made;
}

void etcd_channel::rotate_from(std::size_t member) {
  if (member == current_)
    current_ = (current_ + 1) % members_.size();
}

void etcd_channel::with_token(std::function<void(grpc::Status)> then) {
  if (shut_down_) {
    then(grpc::Status(grpc::StatusCode::CANCELLED, "the store is closing"));
  } else if (options_.user.empty() || !token_.empty()) {
    then(grpc::Status::OK);
  } else {
    waiting_for_token_.push_back(std::move(then));
    if (waiting_for_token_.size() == 1)
      authenticate();
  }
}

void etcd_channel::authenticate() {
  etcdserverpb::AuthenticateRequest request;
  request.set_name(options_.user);
  request.set_password(options_.password);
  auto call = make_call<etcdserverpb::AuthenticateResponse>(
    std::move(request),
    [](etcd_member_stubs& to, auto... with) { to.users->async()->Authenticate(with...); },
    [this](const etcd_end& end, etcdserverpb::AuthenticateResponse& answer) {
      if (end.status.ok())
        token_ = answer.token();
      for (const auto& then : std::exchange(waiting_for_token_, {}))
        then(end.status);
    });
  call->token_renewed = true; // a new token is what this is about
  attempt(std::move(call));
}

void etcd_channel::began(grpc::ClientContext* context) {
  under_way_.insert(context);
}

void etcd_channel::finished(grpc::ClientContext* context) {
  under_way_.erase(context);
  if (shut_down_ && under_way_.empty())
    thread_->post(shut_down_); // after what this end leads to
}

void etcd_channel::shut_down(std::function<void()> then) {
  shut_down_ = std::move(then);
  if (under_way_.empty())
    thread_->post(shut_down_);
  for (auto* context : under_way_)
    context->TryCancel();
}

} // namespace reprieve
