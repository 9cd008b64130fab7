#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace reprieve {

/// The field that the reader stands at, such as `spec.podGroups[0].minCount`; goes back when the
/// step ends.
class path_step {
public:
  path_step(std::string& path, std::string_view key) : path_(path), length_(path.size()) {
    path_ += fmt::format("{}{:.60}", path_.empty() ? "" : ".", key);
  }

  path_step(std::string& path, std::size_t index) : path_(path), length_(path.size()) {
    path_ += fmt::format("[{}]", index);
  }

  path_step(const path_step&) = delete;
  path_step& operator=(const path_step&) = delete;

  ~path_step() {
    path_.resize(length_);
  }

private:
  std::string& path_;
  std::size_t length_;
};

} // namespace reprieve
