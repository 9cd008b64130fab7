#include "state/containers/text_store.hpp"

#include "state/containers/heap_size.hpp"
#include "state/containers/row_index.hpp"

#include <algorithm>
#include <cstring>

namespace reprieve {

namespace {

/// The length, then the text; at least what links a spare block to the next.
std::size_t units_for(std::size_t length) {
  return std::max(1 + length, sizeof(text_store::handle) / sizeof(char16_t));
}

} // namespace

text_store::handle text_store::put(std::u16string_view text) {
  const auto units = units_for(text.size());
  const auto at = take(units);
  auto* block = block_of(at);
  *block = units > page_units ? own_page : static_cast<unit>(text.size());
  std::ranges::copy(text, block + 1);
  return at;
}

void text_store::drop(handle text) {
  auto* block = block_of(text);
  if (*block == own_page) {
    pages_[text / page_units] = {};
    spare_pages_.push_back(text);
    return;
  }
  const auto units = units_for(*block);
  if (spare_blocks_.size() <= units)
    spare_blocks_.resize(units + 1, no_row);
  std::memcpy(block, &spare_blocks_[units], sizeof(handle));
  spare_blocks_[units] = text;
}

text_store::handle text_store::add_page(std::size_t units) {
  handle at = 0;
  if (spare_pages_.empty()) {
    at = static_cast<handle>(pages_.size() * page_units);
    pages_.emplace_back();
  } else {
    at = spare_pages_.back();
    spare_pages_.pop_back();
  }
  pages_[at / page_units] = {std::make_unique_for_overwrite<unit[]>(units), units};
  return at;
}

text_store::handle text_store::take(std::size_t units) {
  if (units > page_units)
    return add_page(units);
  if (units < spare_blocks_.size() && spare_blocks_[units] != no_row) {
    const auto at = spare_blocks_[units];
    std::memcpy(&spare_blocks_[units], block_of(at), sizeof(handle));
    return at;
  }
  if (units > left_) {
    next_ = add_page(page_units);
    left_ = page_units;
  }
  const auto at = next_;
  next_ += static_cast<handle>(units);
  left_ -= units;
  return at;
}

std::size_t text_store::memory() const {
  auto bytes = heap_size(pages_) + heap_size(spare_blocks_) + heap_size(spare_pages_);
  for (const auto& p : pages_)
    bytes += heap_block(p.size * sizeof(unit));
  return bytes;
}

} // namespace reprieve
