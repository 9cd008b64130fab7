#include "protocol/messages/message_weight.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>
#include <unordered_map>

namespace reprieve {

namespace {

namespace pb = google::protobuf;
using pb::internal::WireFormatLite;

/// Deeper than any message of ours goes.
constexpr int most_depth = 32;

/// Adds up what the parts of one message take.
class weighing {
public:
  explicit weighing(std::size_t most) : most_(most) {}

  /// False where it is too much, or no message.
  bool add_message(const pb::Descriptor& type, pb::io::CodedInputStream& from, int depth) {
    if (depth > most_depth || !add(empty(type)))
      return false;
    while (const auto tag = from.ReadTag())
      if (!add_field(type, tag, from, depth))
        return false;
    return from.ConsumedEntireMessage();
  }

  std::size_t sum() const {
    return sum_;
  }

private:
  bool add_field(const pb::Descriptor& type, std::uint32_t tag, pb::io::CodedInputStream& from,
                 int depth) {
    const auto* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const auto wire = WireFormatLite::GetTagWireType(tag);
    if (field == nullptr || wire != WireFormatLite::WIRETYPE_LENGTH_DELIMITED)
      return add(sizeof(std::string) + sizeof(void*)) && WireFormatLite::SkipField(&from, tag);
    std::uint32_t length = 0;
    if (!from.ReadVarint32(&length) || length > std::numeric_limits<std::int32_t>::max())
      return false;
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      // Text, or numbers of which each has a byte at least.
      const auto each = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING
                          ? std::size_t{1}
                          : sizeof(std::uint64_t);
      return add(sizeof(std::string) + sizeof(void*) + each * length)
             && from.Skip(static_cast<int>(length));
    }
    const auto outer = from.PushLimit(static_cast<int>(length));
    const bool whole = add(sizeof(void*)) && add_message(*field->message_type(), from, depth + 1);
    from.PopLimit(outer);
    return whole;
  }

  bool add(std::size_t bytes) {
    sum_ += bytes;
    return sum_ <= most_;
  }

  /// What a message of the type takes that has nothing in it.
  std::size_t empty(const pb::Descriptor& type) {
    auto& known = empty_[&type];
    if (known == 0)
      known = pb::MessageFactory::generated_factory()->GetPrototype(&type)->SpaceUsedLong();
    return known;
  }

  std::size_t most_;
  std::size_t sum_ = 0;
  std::unordered_map<const pb::Descriptor*, std::size_t> empty_;
};

} // namespace

std::optional<std::size_t> message_weight(const pb::Descriptor& type,
                                          pb::io::ZeroCopyInputStream& bytes, std::size_t most) {
  pb::io::CodedInputStream from(&bytes);
  weighing all(most);
  return all.add_message(type, from, 0) ? std::optional(all.sum()) : std::nullopt;
}

} // namespace reprieve
