#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>
#include <optional>

namespace reprieve {

/// How many bytes of memory a message of this type takes once it is read from its bytes, about;
/// nothing where that is more than `most`, or where they are no such message. Nothing is read for
/// it: a few bytes can make a message that takes a thousand times as much.
std::optional<std::size_t> message_weight(const google::protobuf::Descriptor& type,
                                          google::protobuf::io::ZeroCopyInputStream& bytes,
                                          std::size_t most);

} // namespace reprieve
