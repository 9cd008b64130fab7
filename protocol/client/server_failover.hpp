#pragma once

// For the client only: includes gRPC.

#include "protocol/client/server_connection.hpp"

#include <absl/status/status.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace reprieve {

/// What came of asking one server.
struct call_attempt {
  grpc::Status status;
  bool reached = false;   ///< the server may have seen the call
  bool unchanged = false; ///< the server said that it changed nothing

  /// A server that answers says whether something may have changed. Without that, and where gRPC
  /// found nobody to connect to, the call was never sent.
  static call_attempt ended(const grpc::Status& status, const grpc::ClientContext& context);

  /// Whether another server could have a better answer.
  bool went_missing() const;
};

/// Whether a call changes something: then it may not be made twice.
enum class call_effect { reads, changes };

/// Several servers: which of them is asked first, when another is asked, and whether it may be.
class server_failover {
public:
  explicit server_failover(client_options options);

  /// Of a call, with what says who calls.
  std::unique_ptr<grpc::ClientContext> make_context() const;

  using asking = std::function<call_attempt(const server_connection&)>;

  /// Asks one server after the other until one is reached and `enough` says that its answer counts.
  /// That one is the first to be asked from then on.
  call_attempt ask_until(const std::function<bool(const call_attempt&)>& enough,
                         const asking& try_one);

  /// The same until one answers, or may have made a change.
  call_attempt ask(call_effect what, const asking& try_one);

  /// Sees to it that the one to be asked first is there, if any is.
  void look_for_server();

  /// The one to be asked first.
  std::size_t first() const {
    return first_;
  }
  const server_connection& at(std::size_t index) const {
    return all_[index];
  }
  /// Another is to be asked before this one.
  void pass_over(std::size_t index);

  /// How it ended, for people.
  absl::Status outcome(const call_attempt& last) const;
  /// Likewise, and whether nobody knows if the change was made.
  absl::Status outcome(call_effect what, const call_attempt& last) const;

private:
  call_attempt ask_round(const std::function<bool(const call_attempt&)>& enough,
                         const asking& try_one);
  absl::Status nobody_answers(const grpc::Status& last) const;

  client_options options_;
  std::vector<server_connection> all_;
  std::size_t first_ = 0;
};

} // namespace reprieve
