#pragma once

#include "state/row_index.hpp"
#include "state/row_table.hpp"
#include "state/text_store.hpp"

#include <cstddef>
#include <cstdint>
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

  std::string_view text(id name) const {
    return texts_.at(names_[name].text);
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

  text_store texts_;
  row_table<record> names_;
  row_index by_text_;
};

} // namespace reprieve
