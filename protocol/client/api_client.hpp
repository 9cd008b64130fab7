#pragma once

#include "protocol/client/client_options.hpp"
#include "state/model/requests.hpp"
#include "state/store/backup.hpp"

#include <absl/status/status.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace reprieve {

class server_failover;

/// Heartbeats, one after the other, over one call.
class heartbeat_sender {
public:
  virtual ~heartbeat_sender() = default;

  /// Does not wait for an answer. False when the call has failed; `end` says why.
  virtual bool send(const heartbeat_request& alive) = 0;

  /// Waits until all is taken in.
  virtual absl::Status end() = 0;
};

/// The API as a program calls it; every call waits for its answer.
///
/// Where a server does not answer, the next is asked, and stays the first to be asked from then on.
/// A call that changes something goes to another server only if it certainly was not carried out by
/// the one before; else the error says that nobody knows.
class api_client {
public:
  /// Connects with the first call.
  explicit api_client(client_options options);
  ~api_client();
  api_client(api_client&&) noexcept;
  api_client& operator=(api_client&&) noexcept;

  /// For programs whose words are for people: gRPC keeps its own to itself in this process, for all
  /// that it has to say comes back as an error. Its variable GRPC_VERBOSITY brings them back.
  static void silence_transport();

  apply_result apply(const apply_request& wanted);
  /// All that is asked for, in as many calls as that takes.
  get_result get(const get_request& wanted);
  describe_result describe(const describe_request& wanted);
  absl::Status remove(const delete_request& wanted);
  explain_result explain(const explain_request& wanted);
  /// Says once that nodes are up.
  heartbeat_result heartbeat(const heartbeat_request& alive);
  /// The same for an agent, which goes on with that; `unknown` is called on a thread of its own
  /// with names of nodes that are not there. Goes to the first server that is there; when that
  /// fails, the next one begins with another. The client must outlast it.
  std::unique_ptr<heartbeat_sender>
  heartbeats(std::function<void(std::vector<std::string>)> unknown);

  /// Calls `each` with the events after `after`; with `follow` also with new ones, until it returns
  /// false or the server ends.
  absl::Status events(std::int64_t after, bool follow,
                      const std::function<bool(const event&)>& each);

  /// Hands all that the store holds to `into`; what that has is a backup if this ends well.
  absl::Status backup(backup_sink& into);

  /// Hands the live state to `take` as manifests, piece by piece; they are a snapshot if this ends
  /// well.
  absl::Status snapshot(const std::function<absl::Status(const std::string&)>& take);

private:
  get_result get_page(const get_request& wanted);

  std::unique_ptr<server_failover> servers_;
};

} // namespace reprieve
