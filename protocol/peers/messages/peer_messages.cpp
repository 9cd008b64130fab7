#include "protocol/peers/messages/peer_messages.hpp"

#include "protocol/messages/convert_object.hpp"
#include "protocol/messages/convert_requests.hpp"
#include "protocol/peers/messages/peer_conversions.hpp"
#include "protocol/peers/messages/peer_set_aside.hpp"

#include <absl/strings/cord.h>
#include <reprieve/v1/peer.pb.h>

// What is asked of coordinators, the event log and about heartbeats, and the answers that several
// actors give.

namespace reprieve {

v1::Status to_proto(const absl::Status& from) {
  v1::Status to;
  to.set_code(static_cast<int>(from.code()));
  to.set_message(std::string{from.message()});
  from.ForEachPayload([&to](absl::string_view name, const absl::Cord& payload) {
    (*to.mutable_payloads())[std::string{name}] = std::string{payload};
  });
  return to;
}

absl::StatusOr<absl::Status> from_proto(const v1::Status& from) {
  constexpr auto last = static_cast<int>(absl::StatusCode::kUnauthenticated);
  if (from.code() < 0 || from.code() > last)
    return unreadable{absl::InvalidArgumentError(
      fmt::format("code: {} is no status; it must be from 0 to {}", from.code(), last))};
  absl::Status to{static_cast<absl::StatusCode>(from.code()), from.message()};
  for (const auto& [name, payload] : from.payloads())
    to.SetPayload(name, absl::Cord{payload});
  return to;
}

v1::SetAside to_proto(const set_aside& from) {
  v1::SetAside to;
  to.set_kind(to_proto(from.kind));
  to.set_name(from.name);
  to.set_resource_group(from.resource_group);
  to.set_key(from.key);
  to.set_why(from.why);
  to.set_since(to_nanoseconds(from.since));
  to.set_hides_pods(from.hides_pods);
  return to;
}

absl::StatusOr<set_aside> from_proto(const v1::SetAside& from) {
  set_aside to;
  field_reader read;
  read.one("kind", from.kind(), to.kind, from_proto);
  to.name = from.name();
  to.resource_group = from.resource_group();
  to.key = from.key();
  to.why = from.why();
  read.time("since", from.since(), to.since);
  to.hides_pods = from.hides_pods();
  return read.result(std::move(to));
}

static v1::Count to_proto(const std::size_t& from) {
  v1::Count to;
  to.set_count(from);
  return to;
}

static absl::StatusOr<std::size_t> from_proto(const v1::Count& from) {
  return static_cast<std::size_t>(from.count());
}

static v1::Text to_proto(const std::string& from) {
  v1::Text to;
  to.set_text(from);
  return to;
}

static absl::StatusOr<std::string> from_proto(const v1::Text& from) {
  return from.text();
}

static v1::ConfirmOwnership to_proto(const confirm_ownership&) {
  return {};
}

static absl::StatusOr<confirm_ownership> from_proto(const v1::ConfirmOwnership&) {
  return confirm_ownership{};
}

static v1::CountHolds to_proto(const count_holds&) {
  return {};
}

static absl::StatusOr<count_holds> from_proto(const v1::CountHolds&) {
  return count_holds{};
}

static v1::WhyPending to_proto(const why_pending& from) {
  v1::WhyPending to;
  to.set_workload(from.workload);
  return to;
}

static absl::StatusOr<why_pending> from_proto(const v1::WhyPending& from) {
  return why_pending{from.workload()};
}

static v1::EventList to_proto(const event_list& from) {
  v1::EventList to;
  write_all(from, *to.mutable_events());
  return to;
}

static absl::StatusOr<event_list> from_proto(const v1::EventList& from) {
  event_list to;
  field_reader read;
  read.all("events", from.events(), to, from_proto);
  return read.result(std::move(to));
}

static v1::ReadEvents to_proto(const read_events& from) {
  v1::ReadEvents to;
  to.set_after(from.after);
  to.set_name(from.name);
  return to;
}

static absl::StatusOr<read_events> from_proto(const v1::ReadEvents& from) {
  return read_events{from.after(), from.name()};
}

static v1::HeartbeatResult to_proto(const heartbeat_result& from) {
  v1::HeartbeatResult to;
  if (from.ok())
    to.mutable_unknown()->Assign(from->begin(), from->end());
  else
    *to.mutable_refused() = to_proto(from.status());
  return to;
}

static absl::StatusOr<heartbeat_result> from_proto(const v1::HeartbeatResult& from) {
  const auto refused = from_proto(from.refused());
  if (!refused.ok())
    return unreadable{
      absl::Status{refused.status().code(), "refused." + std::string{refused.status().message()}}};
  if (!refused->ok())
    return heartbeat_result{*refused};
  return heartbeat_result{std::vector<std::string>{from.unknown().begin(), from.unknown().end()}};
}

/// Unlike those of agents, it need not name a node.
static absl::StatusOr<heartbeat_request> from_peer(const v1::HeartbeatRequest& from) {
  return heartbeat_request{{from.nodes().begin(), from.nodes().end()}, from.last()};
}

REPRIEVE_PEER_MESSAGE(absl::Status, v1::Status)
REPRIEVE_PEER_MESSAGE(std::size_t, v1::Count)
REPRIEVE_PEER_MESSAGE(std::string, v1::Text)
REPRIEVE_PEER_MESSAGE(confirm_ownership, v1::ConfirmOwnership)
REPRIEVE_PEER_MESSAGE(count_holds, v1::CountHolds)
REPRIEVE_PEER_MESSAGE(why_pending, v1::WhyPending)
REPRIEVE_PEER_MESSAGE(event, v1::Event)
REPRIEVE_PEER_MESSAGE(event_list, v1::EventList)
REPRIEVE_PEER_MESSAGE(read_events, v1::ReadEvents)
REPRIEVE_PEER_MESSAGE(heartbeat_result, v1::HeartbeatResult)

template <>
std::string_view peer_kind<heartbeat_request>() {
  return v1::HeartbeatRequest::descriptor()->name();
}

template <>
std::string encode_peer(const heartbeat_request& m) {
  return to_proto(m).SerializeAsString();
}

template <>
absl::StatusOr<heartbeat_request> decode_peer(std::string_view bytes) {
  return read_peer<v1::HeartbeatRequest, heartbeat_request>(bytes, from_peer);
}

} // namespace reprieve
