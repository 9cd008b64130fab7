#pragma once

#include <string>
#include <vector>

namespace reprieve {

/// Rows under a head, columns as wide as they need to be.
class text_table {
public:
  explicit text_table(std::vector<std::string> head);

  void add(std::vector<std::string> row);

  std::string text() const;

private:
  std::vector<std::vector<std::string>> rows_; ///< the head first
};

} // namespace reprieve
