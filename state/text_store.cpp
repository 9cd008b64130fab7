#include "state/text_store.hpp"

#include "state/heap_size.hpp"
#include "state/row_index.hpp"

#include <cstring>

namespace reprieve {

namespace {

/// The length, then the characters.
std::size_t words_for(std::size_t length) {
  return 1 + (length + 3) / 4;
}

} // namespace

text_store::handle text_store::put(std::string_view text) {
  const auto at = take(words_for(text.size()));
  auto* block = block_of(at);
  *block = static_cast<word>(text.size());
  if (!text.empty())
    std::memcpy(block + 1, text.data(), text.size());
  return at;
}

void text_store::drop(handle text) {
  auto* block = block_of(text);
  const auto words = words_for(*block);
  if (words > page_words) {
    pages_[text / page_words] = {};
    spare_pages_.push_back(text);
    return;
  }
  if (spare_blocks_.size() <= words)
    spare_blocks_.resize(words + 1, no_row);
  *block = spare_blocks_[words];
  spare_blocks_[words] = text;
}

text_store::handle text_store::add_page(std::size_t words) {
  handle at = 0;
  if (spare_pages_.empty()) {
    at = static_cast<handle>(pages_.size() * page_words);
    pages_.emplace_back();
  } else {
    at = spare_pages_.back();
    spare_pages_.pop_back();
  }
  pages_[at / page_words] = {std::make_unique_for_overwrite<word[]>(words), words};
  return at;
}

text_store::handle text_store::take(std::size_t words) {
  if (words > page_words)
    return add_page(words);
  if (words < spare_blocks_.size() && spare_blocks_[words] != no_row) {
    const auto at = spare_blocks_[words];
    spare_blocks_[words] = *block_of(at);
    return at;
  }
  if (words > left_) {
    next_ = add_page(page_words);
    left_ = page_words;
  }
  const auto at = next_;
  next_ += static_cast<handle>(words);
  left_ -= words;
  return at;
}

std::size_t text_store::memory() const {
  auto bytes = heap_size(pages_) + heap_size(spare_blocks_) + heap_size(spare_pages_);
  for (const auto& p : pages_)
    bytes += heap_block(p.size * sizeof(word));
  return bytes;
}

} // namespace reprieve
