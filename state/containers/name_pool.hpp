#pragma once

#include "state/containers/packed_text.hpp"
#include "state/containers/row_index.hpp"
#include "state/containers/row_table.hpp"
#include "state/containers/text_store.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reprieve {

/// Names that many share, each kept once for as long as somebody refers to it. The number of a name
/// is a row: small, and taken again when the name is gone.
class name_pool {
public:
  using id = std::uint32_t;

  /// The number of `text`, with one more reference to it.
  id intern(std::string_view text);
  /// Drops a reference; the last takes the name with it.
  void release(id name);
  /// The number of `text`, or `no_row`.
  id find(std::string_view text) const;

  std::string text(id name) const {
    return unpack(packed(name));
  }
  /// The order of two names, as bytes.
  std::strong_ordering order(id a, id b) const {
    return order_of_texts(packed(a), packed(b));
  }
  std::uint32_t references(id name) const {
    return names_[name].references;
  }
  /// One above the highest number.
  id rows() const {
    return names_.rows();
  }

  std::size_t memory() const {
    return texts_.memory() + names_.memory() + by_text_.memory();
  }

private:
  struct record {
    text_store::handle text;
    std::uint32_t references;
  };

  std::u16string_view packed(id name) const {
    return texts_.at(names_[name].text);
  }
  id find_packed(std::u16string_view text) const;
  std::uint64_t hash_of_name(id name) const {
    return hash_of(packed(name));
  }

  text_store texts_;
  row_table<record> names_;
  row_index by_text_;
};

} // namespace reprieve
