#pragma once

// For the server only: includes gRPC.

#include "protocol/convert_requests.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/api.grpc.pb.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace reprieve {

/// Sends the events that a follower gets down a stream, one write at a time. Lives until gRPC is
/// done with the call; the follower may outlast it.
class event_stream final : public grpc::ServerWriteReactor<v1::Event> {
public:
  void push(const event& seen) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting) {
      finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
              fmt::format("the reader is {} events behind; watch again from the last one seen",
                          waiting_.size())});
      return;
    }
    waiting_.push_back(to_proto(seen));
    write_next();
  }

  /// Ends the stream when all is written.
  void end(grpc::Status how = grpc::Status::OK) {
    const std::lock_guard lock(mutex_);
    end_when_written_ = std::move(how);
    write_next();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    waiting_.pop_front();
    writing_ = false;
    if (!ok)
      finish(grpc::Status::OK);
    else
      write_next();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    finish(grpc::Status::OK);
  }

  void OnDone() override {
    std::function<void()> gone;
    {
      const std::lock_guard lock(mutex_);
      gone = std::move(gone_);
    }
    if (gone)
      gone();
    self_.reset();
  }

  /// Keeps the stream alive until gRPC is done; `gone` is called then.
  void keep(std::shared_ptr<event_stream> self, std::function<void()> gone) {
    const std::lock_guard lock(mutex_);
    self_ = std::move(self);
    gone_ = std::move(gone);
  }

private:
  void write_next() {
    if (writing_ || finished_)
      return;
    if (!waiting_.empty()) {
      writing_ = true;
      StartWrite(&waiting_.front());
    } else if (end_when_written_) {
      finish(*end_when_written_);
    }
  }

  void finish(const grpc::Status& how) {
    if (std::exchange(finished_, true))
      return;
    Finish(how);
  }

  /// So that one who reads slowly, or not at all, does not fill the memory.
  static constexpr std::size_t most_waiting = 50'000;

  std::mutex mutex_;
  std::deque<v1::Event> waiting_;
  bool writing_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> end_when_written_;
  std::shared_ptr<event_stream> self_;
  std::function<void()> gone_;
};

} // namespace reprieve
