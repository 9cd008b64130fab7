#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace reprieve {

/// A new directory that goes with everything in it.
class temporary_directory {
public:
  temporary_directory() {
    auto name = (std::filesystem::temp_directory_path() / "reprieve-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      throw std::runtime_error("cannot make a temporary directory " + name);
    path_ = name;
  }

  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const {
    return path_;
  }

private:
  std::filesystem::path path_;
};

} // namespace reprieve
