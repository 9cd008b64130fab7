#include "tests/fuzz/corpus.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace reprieve {

std::vector<std::string> drawn(std::size_t count, const std::function<std::string()>& make) {
  constexpr int largest = 30;
  std::vector<std::string> made;
  const auto one = rc::gen::exec([&make] { return make(); });
  for (std::size_t i = 0; i < count; ++i)
    made.push_back(
      one(rc::Random(i + 1), static_cast<int>(i * largest / std::max<std::size_t>(count, 1)))
        .value());
  return made;
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.file_size() < 8192)
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return texts;
}

void add_to(std::vector<std::string>& corpus, std::vector<std::string> more) {
  std::move(more.begin(), more.end(), std::back_inserter(corpus));
}

} // namespace reprieve
