#include "state/store/etcd/etcd_channel.hpp"

#include "state/store/etcd/etcd_arguments.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <utility>

namespace reprieve {

namespace {

std::shared_ptr<grpc::ChannelCredentials> credentials(const etcd_options& options) {
  if (!options.tls)
    return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = options.tls->certificate_authority,
                               .pem_private_key = options.tls->key,
                               .pem_cert_chain = options.tls->certificate});
}

} // namespace

etcd_channel::etcd_channel(std::shared_ptr<event_thread> thread, etcd_options options)
    : thread_(std::move(thread)), options_(std::move(options)) {
  connect();
}

void etcd_channel::connect() {
  members_.clear();
  const auto trust = credentials(options_);
  for (const auto& endpoint : options_.endpoints)
    members_.push_back(grpc::CreateCustomChannel(endpoint, trust, etcd_arguments()));
}

void etcd_channel::use(etcd_tls tls) {
  options_.tls = std::move(tls);
  connect();
}

void etcd_channel::use_password(std::string password) {
  options_.password = std::move(password);
  forget_token();
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
  etcd_wire::AuthenticateRequest request;
  request.set_name(options_.user);
  request.set_password(options_.password);
  auto call = make_call<etcd_wire::AuthenticateResponse>(
    etcd_method::authenticate, std::move(request),
    [this](const etcd_end& end, etcd_wire::AuthenticateResponse& answer) {
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
