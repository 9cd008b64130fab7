#include "protocol/transport/grpc_status.hpp"

#include "state/text/utf8.hpp"

namespace reprieve {

namespace {

/// gRPC refuses trailers of more than 8 KiB, in which most characters that are not ASCII take three
/// times their bytes.
constexpr std::size_t most_in_trailer = 6 << 10;

std::size_t bytes_in_trailer(std::string_view character) {
  const bool plain = character.size() == 1 && character.front() != '%';
  return plain ? 1 : 3 * character.size();
}

/// Of ASCII, or of those that some terminals take for the begin of a command as well.
bool is_control_character(std::string_view character) {
  if (character.size() == 1)
    return is_control(character.front());
  return character.size() == 2 && character[0] == '\xC2'
         && static_cast<unsigned char>(character[1]) < 0xA0;
}

} // namespace

std::string presentable(std::string_view sentence) {
  std::string shown;
  for (std::size_t taken = 0; !sentence.empty();) {
    const auto length = utf8_character_length(sentence);
    auto character = sentence.substr(0, length);
    if (character.empty() || is_control_character(character))
      character = "?";
    taken += bytes_in_trailer(character);
    if (taken > most_in_trailer)
      return shown + "…";
    shown += character;
    sentence.remove_prefix(length > 0 ? length : 1);
  }
  return shown;
}

grpc::Status to_grpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()),
          presentable({status.message().data(), status.message().size()})};
}

} // namespace reprieve
