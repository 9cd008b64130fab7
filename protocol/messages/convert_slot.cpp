#include "protocol/messages/convert_slot.hpp"

#include "protocol/messages/convert_fields.hpp"

namespace reprieve {
namespace {

constexpr enum_table<slot_state, v1::SlotState, 4> states{{
  {slot_state::wanted, v1::SLOT_STATE_WANTED},
  {slot_state::stopped, v1::SLOT_STATE_STOPPED},
  {slot_state::succeeded, v1::SLOT_STATE_SUCCEEDED},
  {slot_state::failed, v1::SLOT_STATE_FAILED},
}};

} // namespace

v1::SlotState to_proto(slot_state value) {
  return states.to_message(value);
}

absl::StatusOr<slot_state> from_proto(v1::SlotState value) {
  return states.from_message(value);
}

v1::SlotRecord to_proto(const slot_record& from) {
  v1::SlotRecord to;
  to.set_group(from.slot.group);
  to.set_replica(from.slot.replica);
  to.set_index(from.slot.index);
  to.set_incarnation(from.incarnation);
  to.set_state(to_proto(from.state));
  to.set_decision(from.decision);
  return to;
}

absl::StatusOr<slot_record> from_proto(const v1::SlotRecord& from) {
  slot_record to;
  field_reader read;
  to.slot.group = from.group();
  read.count("replica", from.replica(), to.slot.replica);
  read.count("index", from.index(), to.slot.index);
  to.incarnation = from.incarnation();
  read.one("state", from.state(), to.state, from_proto);
  to.decision = from.decision();
  return read.result(std::move(to));
}

} // namespace reprieve
