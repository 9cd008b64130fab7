#include "protocol/messages/convert_fields.hpp"

namespace reprieve {

void field_reader::amounts(std::string_view field,
                           const google::protobuf::Map<std::string, std::int64_t>& from,
                           resources& to) {
  for (const auto& [name, amount] : from) {
    if (amount < 0)
      refuse(fmt::format("{}[{}]", field, name),
             fmt::format("{} is negative; give 0 or more", amount));
    else
      to.emplace(name, amount);
  }
}

void field_reader::time(std::string_view field, std::int64_t from, time_point& to) {
  if (from < 0)
    refuse(field, fmt::format("{} ns is before 1970; give the time in nanoseconds since then, or 0 "
                              "where it is not known",
                              from));
  else
    to = time_point{duration{from}};
}

void field_reader::length(std::string_view field, std::int64_t from, duration& to) {
  if (from < 0)
    refuse(field, fmt::format("a duration of {} ns is negative; give 0 or more", from));
  else
    to = duration{from};
}

void field_reader::refuse(std::string_view field, std::string_view why) {
  if (status_.ok())
    status_ = absl::InvalidArgumentError(fmt::format("{}: {}", field, why));
}

void field_reader::pass_on(std::string_view field, std::string_view separator,
                           const absl::Status& refusal) {
  if (!status_.ok())
    return;
  // Bytes that are no message have nothing inside.
  const bool is_none = absl::IsDataLoss(refusal);
  status_ = absl::Status{
    is_none ? absl::StatusCode::kInvalidArgument : refusal.code(),
    fmt::format("{}{}{}", field, is_none ? ": " : separator, std::string{refusal.message()})};
}

} // namespace reprieve
