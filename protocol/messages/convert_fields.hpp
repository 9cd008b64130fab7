#pragma once

#include "state/quantities/resources.hpp"
#include "state/quantities/time.hpp"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <google/protobuf/generated_enum_reflection.h>
#include <google/protobuf/map.h>
#include <google/protobuf/repeated_field.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// What the conversions of single types are made of. A refusal starts with the path of the field
/// that was wrong, such as `groups[1].pods.tolerations[0].effect`.
namespace reprieve {

/// Which value of a model's enum stands for which of a message's. The first row is the default.
template <class Model, class Message, std::size_t Rows>
struct enum_table {
  std::pair<Model, Message> rows[Rows];

  constexpr Message to_message(Model value) const {
    for (const auto& [model, message] : rows)
      if (model == value)
        return message;
    return Message{};
  }

  absl::StatusOr<Model> from_message(Message value) const {
    if (value == Message{})
      return rows[0].first;
    for (const auto& [model, message] : rows)
      if (message == value)
        return model;
    return refusal(value);
  }

  /// Names the numbers that would be right.
  absl::Status refusal(Message value) const {
    const auto* described = google::protobuf::GetEnumDescriptor<Message>();
    std::string known;
    for (const auto& row : rows)
      known +=
        fmt::format("{}{} ({})", known.empty() ? "" : ", ",
                    described->FindValueByNumber(row.second)->name(), static_cast<int>(row.second));
    return absl::InvalidArgumentError(
      fmt::format("{} is no {} that this version knows; it knows {}", static_cast<int>(value),
                  described->name(), known));
  }
};

inline std::int64_t to_nanoseconds(time_point t) {
  return t.time_since_epoch().count();
}

/// The message in the bytes, or that they are none.
template <class Message>
absl::StatusOr<Message> parse_message(std::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return absl::DataLossError(message.GetTypeName() + " expected, other bytes found");
  return message;
}

/// Fills a map field of a message.
template <class Value>
void write_map(const std::map<std::string, Value, std::less<>>& from,
               google::protobuf::Map<std::string, Value>& to) {
  for (const auto& [key, value] : from)
    to[key] = value;
}

/// Takes a map field as it is.
template <class Value>
void read_map(const google::protobuf::Map<std::string, Value>& from,
              std::map<std::string, Value, std::less<>>& to) {
  to.insert(from.begin(), from.end());
}

/// Fills a map field of a message with the messages of a model's elements.
template <class Model, class Message>
void write_each(const std::map<std::string, Model, std::less<>>& from,
                google::protobuf::Map<std::string, Message>& to) {
  for (const auto& [key, element] : from)
    to[key] = to_proto(element);
}

/// Fills a repeated field of a message with the messages of a model's elements.
template <class Model, class Message>
void write_all(const std::vector<Model>& from, google::protobuf::RepeatedPtrField<Message>& to) {
  to.Reserve(static_cast<int>(from.size()));
  for (const auto& element : from)
    *to.Add() = to_proto(element);
}

/// Reads the fields of one message, and remembers the first that was wrong.
class field_reader {
public:
  /// The conversion of one message or enum, from the set of overloads of `from_proto`.
  template <class Message, class Model>
  using conversion = std::type_identity_t<absl::StatusOr<Model> (*)(
    std::conditional_t<std::is_enum_v<Message>, Message, const Message&>)>;

  template <class Message, class Model>
  void one(std::string_view field, const Message& from, Model& to,
           conversion<Message, Model> convert) {
    if (auto read = convert(from); read.ok())
      to = *std::move(read);
    else
      pass_on(field, std::is_enum_v<Message> ? ": " : ".", read.status());
  }

  template <class Message, class Model>
  void all(std::string_view field, const google::protobuf::RepeatedPtrField<Message>& from,
           std::vector<Model>& to, conversion<Message, Model> convert) {
    to.reserve(to.size() + static_cast<std::size_t>(from.size()));
    for (int i = 0; i < from.size(); ++i) {
      if (auto read = convert(from[i]); read.ok())
        to.push_back(*std::move(read));
      else
        pass_on(fmt::format("{}[{}]", field, i), ".", read.status());
    }
  }

  template <class Message, class Model>
  void each(std::string_view field, const google::protobuf::Map<std::string, Message>& from,
            std::map<std::string, Model, std::less<>>& to, conversion<Message, Model> convert) {
    for (const auto& [key, message] : from) {
      if (auto read = convert(message); read.ok())
        to.emplace(key, *std::move(read));
      else
        pass_on(fmt::format("{}[{}]", field, key), ".", read.status());
    }
  }

  void amounts(std::string_view field, const google::protobuf::Map<std::string, std::int64_t>& from,
               resources& to);
  void time(std::string_view field, std::int64_t from, time_point& to);
  void length(std::string_view field, std::int64_t from, duration& to);

  /// A number that counts something, limits a count, or says which of several. `least` is what
  /// would be right.
  template <std::integral Number>
  void count(std::string_view field, Number from, Number& to, int least = 0) {
    if (from < 0)
      refuse(field, fmt::format("{} is negative; give {} or more", from, least));
    else
      to = from;
  }

  const absl::Status& status() const {
    return status_;
  }

  /// `value`, or the first refusal.
  template <class Model>
  absl::StatusOr<Model> result(Model value) const {
    if (!status_.ok())
      return status_;
    return value;
  }

private:
  void refuse(std::string_view field, std::string_view why);
  /// The path of what stands inside `field` continues after a dot; an enum has nothing inside.
  void pass_on(std::string_view field, std::string_view separator, const absl::Status& refusal);

  absl::Status status_;
};

} // namespace reprieve
