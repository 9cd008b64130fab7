#pragma once

#include "state/store/etcd/etcd.pb.h"
#include "state/store/etcd/etcd_options.hpp"
#include "state/store/etcd/etcd_status.hpp"
#include "state/store/etcd/etcd_stream.hpp"
#include "state/store/etcd/event_thread.hpp"

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

/// The calls that etcd takes.
namespace etcd_method {
inline constexpr const char* range = "/etcdserverpb.KV/Range";
inline constexpr const char* transaction = "/etcdserverpb.KV/Txn";
inline constexpr const char* compact = "/etcdserverpb.KV/Compact";
inline constexpr const char* watch = "/etcdserverpb.Watch/Watch";
inline constexpr const char* lease_grant = "/etcdserverpb.Lease/LeaseGrant";
inline constexpr const char* lease_revoke = "/etcdserverpb.Lease/LeaseRevoke";
inline constexpr const char* lease_keep_alive = "/etcdserverpb.Lease/LeaseKeepAlive";
inline constexpr const char* authenticate = "/etcdserverpb.Auth/Authenticate";
inline constexpr const char* status = "/etcdserverpb.Maintenance/Status";
} // namespace etcd_method

/// Makes calls and opens streams to one member of etcd at a time, and moves on to the next when
/// that fails. Everything, callbacks included, happens on the event thread.
class etcd_channel {
public:
  etcd_channel(std::shared_ptr<event_thread> thread, etcd_options options);

  /// Makes the call and, when it has ended, calls `done` with how it ended and the response. Goes
  /// to another member only when nothing was sent to the first.
  template <class Response, class Request>
  void call(const char* method, Request request,
            std::function<void(const etcd_end&, Response&)> done);

  /// Opens a stream. When that is not possible, for want of a token, there is none, and `on.closed`
  /// is called all the same.
  template <class Request, class Response>
  void open(const char* method, typename etcd_stream<Request, Response>::events on,
            std::function<void(std::shared_ptr<etcd_stream<Request, Response>>)> opened);

  /// Calls and streams to come are encrypted with these; those under way go on as they are.
  void use(etcd_tls tls);

  /// The next token is asked for with this password, and it is asked for anew.
  void use_password(std::string password);

  /// Calls to come go to another member than those before.
  void rotate() {
    rotate_from(current_);
  }

  /// Calls `then(OK)` when calls can carry a token, at once where none is needed.
  void with_token(std::function<void(grpc::Status)> then);

  void forget_token() {
    token_.clear();
  }

  /// Cancels everything under way and calls `then` when all of it has ended.
  void shut_down(std::function<void()> then);

  const std::shared_ptr<event_thread>& thread() const {
    return thread_;
  }

  const etcd_options& options() const {
    return options_;
  }

private:
  template <class Request, class Response>
  struct pending_call {
    const char* method;
    Request request;
    std::function<void(const etcd_end&, Response&)> done;
    std::chrono::system_clock::time_point deadline;
    std::size_t members_left = 0; ///< to try
    bool token_renewed = false;
    std::string token{}; ///< that it went with
    Response response{};
    std::unique_ptr<grpc::ClientContext> context{};
    std::size_t member = 0; ///< that it went to last
  };

  template <class Response, class Request>
  auto make_call(const char* method, Request request,
                 std::function<void(const etcd_end&, Response&)> done) const;
  template <class Call>
  void attempt(std::shared_ptr<Call> call);
  template <class Call>
  void attempt_with_token(std::shared_ptr<Call> call);
  template <class Call>
  void ended(std::shared_ptr<Call> call, const grpc::Status& status);

  void connect();
  std::unique_ptr<grpc::ClientContext> context() const;
  void rotate_from(std::size_t member);
  void authenticate();
  void began(grpc::ClientContext* context);
  void finished(grpc::ClientContext* context);

  const std::shared_ptr<event_thread> thread_;
  etcd_options options_;
  std::vector<std::shared_ptr<grpc::Channel>> members_;
  std::size_t current_ = 0;
  std::string token_;
  std::vector<std::function<void(grpc::Status)>> waiting_for_token_;
  std::set<grpc::ClientContext*> under_way_;
  std::function<void()> shut_down_; ///< set once it began
};

template <class Response, class Request>
auto etcd_channel::make_call(const char* method, Request request,
                             std::function<void(const etcd_end&, Response&)> done) const {
  using std::chrono::system_clock;
  using call = pending_call<Request, Response>;
  return std::shared_ptr<call>(
    new call{method, std::move(request), std::move(done),
             system_clock::now() + std::chrono::ceil<system_clock::duration>(options_.call_timeout),
             members_.size()});
}

template <class Response, class Request>
void etcd_channel::call(const char* method, Request request,
                        std::function<void(const etcd_end&, Response&)> done) {
  attempt_with_token(make_call<Response>(method, std::move(request), std::move(done)));
}

template <class Call>
void etcd_channel::attempt_with_token(std::shared_ptr<Call> call) {
  with_token([this, call](const grpc::Status& status) {
    if (status.ok())
      attempt(call);
    else
      call->done({status, false}, call->response);
  });
}

template <class Call>
void etcd_channel::attempt(std::shared_ptr<Call> call) {
  call->member = current_;
  --call->members_left;
  call->context = context();
  call->context->set_deadline(call->deadline);
  call->token = token_;
  began(call->context.get());
  // The report moves the call on to our thread: were gRPC's the last to let go of it, a channel
  // could end there, and wait for that very thread to end.
  auto& started = *call;
  grpc::TemplatedGenericStub<decltype(started.request), decltype(started.response)> member(
    members_[current_]);
  member.UnaryCall(started.context.get(), started.method, {}, &started.request, &started.response,
                   [this, call = std::move(call)](const grpc::Status& status) mutable {
                     thread_->post([this, call = std::move(call), status]() mutable {
                       ended(std::move(call), status);
                     });
                   });
}

template <class Call>
void etcd_channel::ended(std::shared_ptr<Call> call, const grpc::Status& status) {
  finished(call->context.get());
  const auto code = status.error_code();
  if (code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::DEADLINE_EXCEEDED)
    rotate_from(call->member);
  const bool sent = !never_sent(status);
  if (!sent && call->members_left > 0 && !shut_down_) {
    attempt(std::move(call));
  } else if (wants_new_token(status) && !std::exchange(call->token_renewed, true)) {
    if (call->token == token_) // else another call has seen to it
      forget_token();
    call->members_left = members_.size();
    attempt_with_token(std::move(call));
  } else {
    call->done({status, sent}, call->response);
  }
}

template <class Request, class Response>
void etcd_channel::open(
  const char* method, typename etcd_stream<Request, Response>::events on,
  std::function<void(std::shared_ptr<etcd_stream<Request, Response>>)> opened) {
  with_token([this, method, on = std::move(on),
              opened = std::move(opened)](const grpc::Status& status) mutable {
    if (!status.ok()) {
      on.closed(status);
      return;
    }
    auto made = context();
    auto* key = made.get();
    on.closed = [this, key, member = current_, closed = std::move(on.closed)](auto& ended) {
      finished(key);
      if (ended.error_code() != grpc::StatusCode::CANCELLED)
        rotate_from(member);
      closed(ended);
    };
    auto stream =
      std::make_shared<etcd_stream<Request, Response>>(thread_, std::move(made), std::move(on));
    began(key);
    grpc::TemplatedGenericStub<Request, Response>(members_[current_])
      .PrepareBidiStreamingCall(key, method, {}, stream.get());
    stream->open(stream);
    opened(std::move(stream));
  });
}

} // namespace reprieve
