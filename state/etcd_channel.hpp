#pragma once

#include "state/etcd.grpc.pb.h"
#include "state/etcd_options.hpp"
#include "state/etcd_status.hpp"
#include "state/etcd_stream.hpp"
#include "state/event_thread.hpp"

#include <grpcpp/channel.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

/// The services of one etcd member.
struct etcd_member_stubs {
  explicit etcd_member_stubs(const std::shared_ptr<grpc::Channel>& channel);

  std::unique_ptr<etcdserverpb::KV::Stub> keys;
  std::unique_ptr<etcdserverpb::Watch::Stub> watches;
  std::unique_ptr<etcdserverpb::Lease::Stub> leases;
  std::unique_ptr<etcdserverpb::Auth::Stub> users;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
};

/// Makes calls and opens streams to one member of etcd at a time, and moves on to the next when
/// that fails. Everything, callbacks included, happens on the event thread.
class etcd_channel {
public:
  etcd_channel(std::shared_ptr<event_thread> thread, etcd_options options);

  /// Calls `start(stubs, context, request, response, ended)` and, when that has ended, `done` with
  /// how it ended and the response. Goes to another member only when nothing was sent to the first.
  template <class Response, class Request, class Start>
  void call(Request request, Start start, std::function<void(const etcd_end&, Response&)> done);

  /// Opens the stream that `start(stubs, context, reactor)` begins. When that is not possible, for
  /// want of a token, there is no stream, and `on.closed` is called all the same.
  template <class Request, class Response, class Start>
  void open(Start start, typename etcd_stream<Request, Response>::events on,
            std::function<void(std::shared_ptr<etcd_stream<Request, Response>>)> opened);

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
  template <class Request, class Response, class Start>
  struct pending_call {
    Request request;
    Start start;
    std::function<void(const etcd_end&, Response&)> done;
    std::chrono::system_clock::time_point deadline;
    std::size_t members_left = 0; ///< to try
    bool token_renewed = false;
    std::string token{}; ///< that it went with
    Response response{};
    std::unique_ptr<grpc::ClientContext> context{};
    std::size_t member = 0; ///< that it went to last
  };

  template <class Response, class Request, class Start>
  auto make_call(Request request, Start start,
                 std::function<void(const etcd_end&, Response&)> done) const;
  template <class Call>
  void attempt(std::shared_ptr<Call> call);
  template <class Call>
  void attempt_with_token(std::shared_ptr<Call> call);
  template <class Call>
  void ended(std::shared_ptr<Call> call, const grpc::Status& status);

  std::unique_ptr<grpc::ClientContext> context() const;
  void rotate_from(std::size_t member);
  void authenticate();
  void began(grpc::ClientContext* context);
  void finished(grpc::ClientContext* context);

  const std::shared_ptr<event_thread> thread_;
  const etcd_options options_;
  std::vector<etcd_member_stubs> members_;
  std::size_t current_ = 0;
  std::string token_;
  std::vector<std::function<void(grpc::Status)>> waiting_for_token_;
  std::set<grpc::ClientContext*> under_way_;
  std::function<void()> shut_down_; ///< set once it began
};

template <class Response, class Request, class Start>
auto etcd_channel::make_call(Request request, Start start,
                             std::function<void(const etcd_end&, Response&)> done) const {
  using std::chrono::system_clock;
  using call = pending_call<Request, Response, Start>;
  return std::shared_ptr<call>(
    new call{std::move(request), std::move(start), std::move(done),
             system_clock::now() + std::chrono::ceil<system_clock::duration>(options_.call_timeout),
             members_.size()});
}

template <class Response, class Request, class Start>
void etcd_channel::call(Request request, Start start,
                        std::function<void(const etcd_end&, Response&)> done) {
  attempt_with_token(make_call<Response>(std::move(request), std::move(start), std::move(done)));
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
  started.start(members_[current_], started.context.get(), &started.request, &started.response,
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

template <class Request, class Response, class Start>
void etcd_channel::open(
  Start start, typename etcd_stream<Request, Response>::events on,
  std::function<void(std::shared_ptr<etcd_stream<Request, Response>>)> opened) {
  with_token([this, start = std::move(start), on = std::move(on),
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
    start(members_[current_], key, stream.get());
    stream->open(stream);
    opened(std::move(stream));
  });
}

} // namespace reprieve
