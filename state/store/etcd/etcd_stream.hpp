#pragma once

#include "state/store/etcd/event_thread.hpp"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace reprieve {

/// One stream to etcd in both directions. gRPC reports to it on its own threads; it passes all of
/// that on to the event thread, where every other member is used.
template <class Request, class Response>
class etcd_stream final : public grpc::ClientBidiReactor<Request, Response> {
public:
  struct events {
    std::function<void(Response)> answered;
    std::function<void(const grpc::Status&)> closed; ///< once, after everything else
  };

  etcd_stream(std::shared_ptr<event_thread> thread, std::unique_ptr<grpc::ClientContext> context,
              events on)
      : thread_(std::move(thread)), context_(std::move(context)), on_(std::move(on)) {}

  /// Begins the call that `start` made with this as its reactor. It keeps itself until it closes.
  void open(std::shared_ptr<etcd_stream> self) {
    self_ = std::move(self);
    this->AddHold(); // writes begin outside of gRPC's own reports
    this->StartRead(&response_);
    this->StartCall();
  }

  grpc::ClientContext* context() {
    return context_.get();
  }

  void send(Request request) {
    outbox_.push_back(std::move(request));
    if (outbox_.size() == 1)
      write_next();
  }

  void cancel() {
    context_->TryCancel();
  }

private:
  void write_next() {
    if (!ended_ && !outbox_.empty())
      this->StartWrite(&outbox_.front());
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      thread_->post([self = self_] {
        self->ended_ = true;
        self->RemoveHold();
      });
      return;
    }
    thread_->post([self = self_, response = std::move(response_)]() mutable {
      self->on_.answered(std::move(response));
    });
    response_ = Response();
    this->StartRead(&response_);
  }

  void OnWriteDone(bool ok) override {
    if (ok)
      thread_->post([self = self_] {
        self->outbox_.pop_front();
        self->write_next();
      });
  }

  void OnDone(const grpc::Status& status) override {
    thread_->post([self = std::exchange(self_, {}), status] { self->on_.closed(status); });
  }

  const std::shared_ptr<event_thread> thread_;
  const std::unique_ptr<grpc::ClientContext> context_;
  events on_;
  Response response_;
  std::deque<Request> outbox_; ///< the first is being sent
  bool ended_ = false;
  std::shared_ptr<etcd_stream> self_;
};

} // namespace reprieve
