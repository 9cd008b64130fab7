#include "protocol/access/file_watch.hpp"

#include "protocol/access/certificates.hpp"
#include "protocol/access/tls_files.hpp"

namespace reprieve {

namespace {

std::string print_of(const std::vector<std::string>& paths) {
  std::string print;
  for (const auto& path : paths) {
    const auto text = read_small_file(path);
    print += text.ok() ? sha256_hex(*text) : "none";
    print += ' ';
  }
  return print;
}

} // namespace

file_watch::file_watch(std::chrono::milliseconds every) : every_(every) {}

file_watch::~file_watch() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void file_watch::add(std::vector<std::string> paths, std::function<void()> changed,
                     std::function<void()> looked) {
  auto print = print_of(paths);
  const std::lock_guard lock(mutex_);
  all_.push_back({std::move(paths), std::move(changed), std::move(looked), print, print});
  if (!thread_.joinable())
    thread_ = std::thread([this] { run(); });
}

void file_watch::run() {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, every_, [this] { return ended_; }))
    look();
}

void file_watch::look() {
  for (auto& one : all_) {
    auto print = print_of(one.paths);
    if (print != one.told && print == one.last_seen) {
      one.told = print;
      one.changed();
    }
    one.last_seen = std::move(print);
    if (one.looked)
      one.looked();
  }
}

} // namespace reprieve
