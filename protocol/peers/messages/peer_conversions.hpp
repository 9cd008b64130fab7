#pragma once

#include "protocol/messages/convert_fields.hpp"
#include "protocol/peers/messages/peer_messages.hpp"

#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <reprieve/v1/peer.pb.h>

#include <string>
#include <string_view>
#include <utility>

/// What the functions of `peer_messages.hpp` are made of.
namespace reprieve {

/// Why a message can't be read. A `StatusOr<Status>` takes a plain status for what it holds.
struct unreadable {
  absl::Status why;

  operator absl::Status() const { // NOLINT: it is to be taken for one
    return why;
  }
};

/// Of an answer that may be a refusal.
v1::Status to_proto(const absl::Status& from);
absl::StatusOr<absl::Status> from_proto(const v1::Status& from);

/// The message in the bytes of its Protobuf form.
template <class Form, class Message>
absl::StatusOr<Message> read_peer(std::string_view bytes,
                                  absl::StatusOr<Message> (*convert)(const Form&)) {
  const auto form = parse_message<Form>(bytes);
  if (!form.ok())
    return unreadable{form.status()};
  auto read = convert(*form);
  if (!read.ok())
    return unreadable{
      absl::Status{read.status().code(), fmt::format("{}: {}", Form::descriptor()->name(),
                                                     std::string{read.status().message()})}};
  return read;
}

} // namespace reprieve

/// Defines the three functions for a message with the Protobuf form `form`, by the overloads of
/// `to_proto` and `from_proto`. In namespace reprieve.
#define REPRIEVE_PEER_MESSAGE(message, form)                                                       \
  template <>                                                                                      \
  std::string_view peer_kind<message>() {                                                          \
    return form::descriptor()->name();                                                             \
  }                                                                                                \
  template <>                                                                                      \
  std::string encode_peer(const message& m) {                                                      \
    return to_proto(m).SerializeAsString();                                                        \
  }                                                                                                \
  template <>                                                                                      \
  absl::StatusOr<message> decode_peer(std::string_view bytes) {                                    \
    return read_peer<form, message>(bytes, from_proto);                                            \
  }
