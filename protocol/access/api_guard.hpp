#pragma once

#include "observability/tracing.hpp"
#include "protocol/access/api_settings.hpp"
#include "protocol/access/audit_log.hpp"
#include "protocol/access/file_watch.hpp"
#include "protocol/access/identification.hpp"
#include "protocol/limits/client_limit.hpp"
#include "protocol/limits/rate_limit.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace reprieve {

/// Where a call comes from, and what it shows.
struct call_origin {
  std::string peer; ///< gRPC's name for the other end
  credentials_shown shown;
  trace_context trace; ///< that the caller is in, if any
};

/// A call that was let in, until it has its answer.
struct open_call {
  caller who;
  credentials_shown shown; ///< by which it is known
  std::string client;      ///< by which its calls and streams are counted
  client_limit::ticket counted;
  asked_call asked;
  audit_record record;
  span traced;
  std::uint64_t callers_version = 0; ///< by which callers it was looked up who makes it
};

/// A stream that was let in. It counts as open until this is destroyed, and is to end when whoever
/// opened it may not have it any more.
class open_stream {
public:
  using ending = std::function<void(const absl::Status&)>;

  open_stream(std::shared_ptr<open_call> of, client_limit::ticket ticket)
      : of_(std::move(of)), ticket_(std::move(ticket)) {}

  const open_call& of() const {
    return *of_;
  }

  /// Has `end` called, once and from any thread, with why the stream is to end; at once where that
  /// is known already.
  void when_withdrawn(ending end);

  void withdraw(const absl::Status& why);

private:
  std::shared_ptr<open_call> of_;
  client_limit::ticket ticket_;
  std::mutex mutex_;
  absl::Status withdrawn_;
  ending end_;
};

using stream_pointer = std::shared_ptr<open_stream>;

/// The one place that every call of the API goes through: who calls, how often, what is allowed,
/// and a record of it.
class api_guard {
public:
  static absl::StatusOr<std::unique_ptr<api_guard>> make(const api_settings& settings);

  /// Lets a call in by what is known of it before its body is read, or says why not: who calls, how
  /// often, how much at a time, and whether that role may make such a call at all.
  absl::StatusOr<std::shared_ptr<open_call>> enter(const call_origin& origin, api_call what);

  /// Whether the caller may have what the body asks for, which may come long after the call was let
  /// in: what counts is the callers that are in use by then. Where it changes something, it is on
  /// record before this returns.
  absl::Status begin(open_call& call, asked_call asked);

  /// To be called once with the answer of what was begun, before it goes out; returns what is to go
  /// out.
  absl::Status end(open_call& call, absl::Status answer);

  /// Room for so many bytes that wait until the client takes them, or that there is none.
  absl::StatusOr<client_limit::ticket> room_for(const std::string& client, std::int64_t bytes) {
    return unread_.open(client, bytes);
  }

  /// A stream that the call wants to keep open. It is withdrawn when what the caller has shown is
  /// past its time, or the callers' file is read anew and does not let him have it any more.
  absl::StatusOr<stream_pointer> keep_open(std::shared_ptr<open_call> call);

private:
  explicit api_guard(const api_settings& settings);

  absl::Status load_callers();
  absl::StatusOr<caller> find_out_who(const credentials_shown& shown) const;
  std::uint64_t version_of_callers() const;
  /// Whether the callers are others than when the call was looked up, or the time of one has come.
  bool is_out_of_date(const open_call& call) const;
  /// Looks up anew who makes the call, where that may have changed.
  absl::Status look_up_again(open_call& call) const;
  absl::Status may_stay(const open_call& call) const;
  /// Ends the streams of those who may not have them any more; `because` stands before the reason.
  void withdraw_streams(const std::string& because);
  void look_at_the_time();
  std::shared_ptr<open_call> open(const call_origin& origin, api_call what);
  /// Whether another refusal of the client may have a line in the audit file.
  bool may_be_recorded(const std::string& client);
  absl::Status take_request(const std::string& client);
  /// Whether the client has room in the audit file for a change.
  absl::Status room_to_record(const std::string& client);
  /// Says that the call is not let in; returns why.
  absl::Status refuse(open_call& call, absl::Status why);
  absl::Status record(open_call& call, std::string_view stage, const absl::Status& answer);

  api_settings settings_;
  mutable std::mutex mutex_;
  std::shared_ptr<const caller_file> callers_; ///< replaced as a whole, under the mutex
  std::unique_ptr<audit_log> audit_;
  rate_limit requests_;
  rate_limit refusals_;       ///< that are recorded of each client
  rate_limit recorded_bytes_; ///< of each client
  client_limit calls_at_once_;
  client_limit streams_;
  client_limit unread_;
  std::vector<std::weak_ptr<open_stream>> open_; ///< under the mutex
  time_point next_end_ = no_time;                ///< of what somebody shows; under the mutex
  std::uint64_t callers_version_ = 0; ///< grows with each change of who may do what; likewise
  std::string run_id_; ///< tells the calls of this process from those of earlier ones
  std::atomic<std::uint64_t> left_out_ = 0; ///< refusals without a record since the last one with
  std::atomic<std::uint64_t> calls_ = 0;
  file_watch watch_; ///< last, for it uses the others
};

} // namespace reprieve
