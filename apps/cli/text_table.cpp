#include "apps/cli/text_table.hpp"

#include <algorithm>

namespace reprieve {

text_table::text_table(std::vector<std::string> head) {
  rows_.push_back(std::move(head));
}

void text_table::add(std::vector<std::string> row) {
  rows_.push_back(std::move(row));
}

std::string text_table::text() const {
  constexpr std::size_t gap = 3;
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size() && c < widths.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      text += row[c];
      if (c + 1 < row.size())
        text.append(widths[c] - row[c].size() + gap, ' ');
    }
    text += '\n';
  }
  return text;
}

} // namespace reprieve
