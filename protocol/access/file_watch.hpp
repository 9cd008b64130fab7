#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace reprieve {

/// Looks at files again and again, and tells when what they hold has changed. It compares contents,
/// for files are also replaced by moving others, or links to others, into their place. A change is
/// told once the files look the same twice, so that a pair is not taken while only one of it is
/// new.
class file_watch {
public:
  explicit file_watch(std::chrono::milliseconds every = std::chrono::milliseconds{400});
  ~file_watch();
  file_watch(const file_watch&) = delete;
  file_watch& operator=(const file_watch&) = delete;

  /// Calls `changed` on a thread of its own after each change from now on, and `looked` there after
  /// every look.
  void add(std::vector<std::string> paths, std::function<void()> changed,
           std::function<void()> looked = {});

private:
  struct watched {
    std::vector<std::string> paths;
    std::function<void()> changed;
    std::function<void()> looked;
    std::string told;      ///< what the files were when `changed` was called last
    std::string last_seen; ///< what they were at the last look
  };

  void run();
  void look();

  std::chrono::milliseconds every_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::vector<watched> all_;
  std::thread thread_;
};

} // namespace reprieve
