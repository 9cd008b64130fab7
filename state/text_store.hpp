#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace reprieve {

/// Texts by a handle of four bytes, packed into pages with four bytes of bookkeeping each. The room
/// of a text that is dropped goes to the next of about the same length.
class text_store {
public:
  using handle = std::uint32_t;

  handle put(std::string_view text);
  void drop(handle text);

  std::string_view at(handle text) const {
    const auto* block = block_of(text);
    return {reinterpret_cast<const char*>(block + 1), *block};
  }

  std::size_t memory() const;

private:
  using word = std::uint32_t;
  static constexpr std::size_t page_words = 8192;

  /// A text that is too long for a page has one of its own.
  struct page {
    std::unique_ptr<word[]> words;
    std::size_t size = 0;
  };

  word* block_of(handle text) const {
    return &pages_[text / page_words].words[text % page_words];
  }
  handle add_page(std::size_t words);
  handle take(std::size_t words);

  std::vector<page> pages_;
  std::vector<handle> spare_blocks_; ///< by words: the first of a chain, linked by first words
  std::vector<handle> spare_pages_;  ///< numbers whose page of its own was given back
  handle next_ = 0;                  ///< where the page that fills up goes on
  std::size_t left_ = 0;             ///< words left there
};

} // namespace reprieve
