#include "protocol/access/tls_files.hpp"

#include "protocol/access/certificates.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

namespace reprieve {

namespace {

/// Whether there is something to read, or the end. A pipe may have nobody at its other end.
bool comes(int descriptor) {
  constexpr int milliseconds = 5000;
  pollfd waited{descriptor, POLLIN, 0};
  int found = 0;
  do
    found = poll(&waited, 1, milliseconds);
  while (found < 0 && errno == EINTR);
  return found > 0;
}

} // namespace

absl::StatusOr<std::string> read_small_file(const std::string& path) {
  constexpr std::size_t largest = 16U << 20U;
  const auto unreadable = [&](const std::string& why) {
    return absl::NotFoundError(fmt::format("{} can't be read: {}", path, why));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return unreadable(std::generic_category().message(errno));
  const std::unique_ptr<const int, void (*)(const int*)> closed(
    &descriptor, [](const int* open) { ::close(*open); });
  std::string text;
  std::array<char, 1U << 14U> chunk;
  for (;;) {
    if (!comes(descriptor))
      return unreadable("nobody writes to it");
    const auto got = ::read(descriptor, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (got < 0)
      return unreadable(std::generic_category().message(errno));
    if (got == 0)
      return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > largest)
      return absl::InvalidArgumentError(
        fmt::format("{} has more than {} bytes; is it the right file?", path, largest));
  }
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
