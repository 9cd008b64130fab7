#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace reprieve {

/// Packed texts by a handle of four bytes, in pages, with two bytes of bookkeeping each. The room
/// of a text that is dropped goes to the next of the same length.
class text_store {
public:
  using handle = std::uint32_t;

  handle put(std::u16string_view text);
  void drop(handle text);

  std::u16string_view at(handle text) const {
    const auto* block = block_of(text);
    const auto length = *block == own_page ? pages_[text / page_units].size - 1 : *block;
    return {block + 1, length};
  }

  std::size_t memory() const;

private:
  using unit = char16_t;
  static constexpr std::size_t page_units = 16384;
  /// Stands for the length of a text that is too long for a page and has one of its own.
  static constexpr unit own_page = 0xffff;

  struct page {
    std::unique_ptr<unit[]> units;
    std::size_t size = 0;
  };

  unit* block_of(handle text) const {
    return &pages_[text / page_units].units[text % page_units];
  }
  handle add_page(std::size_t units);
  handle take(std::size_t units);

  std::vector<page> pages_;
  std::vector<handle> spare_blocks_; ///< by units: the first of a chain, linked where they begin
  std::vector<handle> spare_pages_;  ///< numbers whose page of its own was given back
  handle next_ = 0;                  ///< where the page that fills up goes on
  std::size_t left_ = 0;             ///< units left there
};

} // namespace reprieve
