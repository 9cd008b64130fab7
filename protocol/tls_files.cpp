#include "protocol/tls_files.hpp"

#include "protocol/certificates.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace reprieve {

absl::StatusOr<std::string> read_small_file(const std::string& path) {
  constexpr std::size_t largest = 16U << 20U;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::array<char, 1U << 14U> chunk;
  while (text.size() <= largest && in.read(chunk.data(), chunk.size()).gcount() > 0)
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
  if (!in.is_open() || in.bad())
    return absl::NotFoundError(
      fmt::format("{} can't be read: {}", path, std::generic_category().message(errno)));
  if (text.size() > largest)
    return absl::InvalidArgumentError(
      fmt::format("{} has more than {} bytes; is it the right file?", path, largest));
  return text;
}

namespace {

absl::Status read_into(const std::string& path, std::string& text) {
  if (path.empty())
    return absl::OkStatus();
  auto read = read_small_file(path);
  if (!read.ok())
    return read.status();
  text = *std::move(read);
  return absl::OkStatus();
}

absl::Status about(const std::string& where, const absl::Status& what) {
  return {what.code(), fmt::format("{}: {}", where, std::string(what.message()))};
}

} // namespace

absl::StatusOr<tls_texts> read_tls(const tls_files& files) {
  if (files.certificate.empty() != files.key.empty())
    return absl::InvalidArgumentError(fmt::format("{} needs its {}; give both",
                                                  files.key.empty() ? "a certificate" : "a key",
                                                  files.key.empty() ? "key" : "certificate"));
  tls_texts texts;
  for (const auto& [path, text] :
       {std::pair{&files.certificate, &texts.certificate}, std::pair{&files.key, &texts.key},
        std::pair{&files.authority, &texts.authority}})
    if (auto read = read_into(*path, *text); !read.ok())
      return read;
  if (!files.key.empty())
    if (auto fits = check_identity(texts.certificate, texts.key); !fits.ok())
      return about(fmt::format("{} with {}", files.certificate, files.key), fits);
  if (!files.authority.empty())
    if (auto fits = check_authorities(texts.authority); !fits.ok())
      return about(files.authority, fits);
  return texts;
}

} // namespace reprieve
