#include "protocol/client/server_failover.hpp"

#include "state/model/unchanged_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <string>
#include <utility>

namespace reprieve {

namespace {

/// Whether the one who answered so may have made a change, unless it says that it has not.
bool may_be_done(call_effect what, const call_attempt& last) {
  return what == call_effect::changes && !last.unchanged
         && (last.went_missing() || last.status.error_code() == grpc::StatusCode::UNKNOWN);
}

/// Why no connection came about, as far as a person can do something about it.
std::string reason_in(const std::string& message, bool encrypted) {
  if (message.find("andshake failed") != std::string::npos)
    return fmt::format("; the TLS handshake failed: --tls-ca must be the authority of the server's "
                       "certificate, which must have the name or address in --server ({})",
                       message);
  if (message.find("Connection refused") != std::string::npos)
    return "; start reprieved, or give its address with --server";
  return fmt::format("; {} ({})",
                     encrypted ? "the server may ask for no TLS, or for another --tls-cert"
                               : "the server may ask for TLS, so give --tls-ca",
                     message);
}

absl::Status to_status(const grpc::Status& answer) {
  if (answer.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED
      && answer.error_message().find("larger than max") != std::string::npos)
    return absl::ResourceExhaustedError(
      fmt::format("the server does not take a request of this size; apply fewer objects at a time, "
                  "or raise --message-bytes of reprieved ({})",
                  answer.error_message()));
  return {static_cast<absl::StatusCode>(answer.error_code()), answer.error_message()};
}

} // namespace

call_attempt call_attempt::ended(const grpc::Status& status, const grpc::ClientContext& context) {
  const auto& said = context.GetServerTrailingMetadata();
  const auto mark = said.find(nothing_changed_mark);
  const bool answered = mark != said.end();
  const bool unsent = status.error_code() == grpc::StatusCode::UNAVAILABLE && !answered
                      && status.error_message().find("failed to connect") != std::string::npos;
  return {status, !unsent, answered && mark->second == "yes"};
}

bool call_attempt::went_missing() const {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE
         || status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED
         || status.error_code() == grpc::StatusCode::CANCELLED;
}

server_failover::server_failover(client_options options) : options_(std::move(options)) {
  for (const auto& address : options_.servers)
    all_.push_back(server_connection::to(address, options_));
}

std::unique_ptr<grpc::ClientContext> server_failover::make_context() const {
  auto context = std::make_unique<grpc::ClientContext>();
  if (!options_.token.empty())
    context->AddMetadata("authorization", "Bearer " + options_.token);
  return context;
}

call_attempt server_failover::ask_round(const std::function<bool(const call_attempt&)>& enough,
                                        const asking& try_one) {
  call_attempt last;
  const auto start = first_;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const auto at = (start + i) % all_.size();
    if (!all_[at].settle()) {
      last = {{grpc::StatusCode::UNAVAILABLE,
               fmt::format("{} did not take a connection in {} s", all_[at].address,
                           server_connection::connect_time.count())}};
      continue;
    }
    last = try_one(all_[at]);
    if (!last.reached)
      continue;
    first_ = at;
    if (enough(last))
      break;
  }
  return last;
}

call_attempt server_failover::ask_until(const std::function<bool(const call_attempt&)>& enough,
                                        const asking& try_one) {
  auto last = ask_round(enough, try_one);
  if (last.reached)
    return last;
  // Another round where no server was there: one may just be starting, and gRPC 1.51 can take a
  // standing connection for a failed one.
  const auto end = std::chrono::system_clock::now() + server_connection::second_chance;
  for (const auto& one : all_)
    if (one.channel->WaitForConnected(end))
      break;
  return ask_round(enough, try_one);
}

call_attempt server_failover::ask(call_effect what, const asking& try_one) {
  return ask_until(
    [what](const call_attempt& came) { return may_be_done(what, came) || !came.went_missing(); },
    try_one);
}

void server_failover::look_for_server() {
  (void)ask_until(
    [](const call_attempt&) { return true; },
    [](const server_connection& to) {
      return call_attempt{grpc::Status::OK, to.channel->GetState(false) == GRPC_CHANNEL_READY};
    });
}

void server_failover::pass_over(std::size_t index) {
  if (first_ == index)
    first_ = (index + 1) % all_.size();
}

absl::Status server_failover::nobody_answers(const grpc::Status& last) const {
  return absl::UnavailableError(
    fmt::format("no server answers at {}{}", fmt::join(options_.servers, ", "),
                reason_in(last.error_message(), options_.tls != tls_texts{})));
}

absl::Status server_failover::outcome(const call_attempt& last) const {
  if (last.status.ok())
    return absl::OkStatus();
  if (!last.reached)
    return mark_nothing_changed(nobody_answers(last.status));
  return last.unchanged ? mark_nothing_changed(to_status(last.status)) : to_status(last.status);
}

absl::Status server_failover::outcome(call_effect what, const call_attempt& last) const {
  if (!last.reached || !may_be_done(what, last))
    return outcome(last);
  return absl::Status(
    to_status(last.status).code(),
    fmt::format("{}: {}; whether the change was made is not known: look, before you ask for it "
                "again",
                options_.servers[first_], last.status.error_message()));
}

} // namespace reprieve
