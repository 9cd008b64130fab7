#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace reprieve {

/// Names are made of lower-case letters, digits, `-` and `.`; with NUL to separate two of them,
/// three such characters fit into 16 bits. Any other text is packed as it is, after a mark.
///
/// Equal texts are packed alike, so that what is packed can be compared and hashed in their place.
std::u16string pack(std::string_view text);
std::string unpack(std::u16string_view packed);

/// The order of the texts, as bytes.
std::strong_ordering order_of_texts(std::u16string_view a, std::u16string_view b);

} // namespace reprieve
