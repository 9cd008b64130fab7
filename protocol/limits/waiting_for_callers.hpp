#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace reprieve {

/// A call that may wait for whoever made it, for a part of the request or until a part of the
/// answer is taken.
class waiting_call {
public:
  using instant = std::chrono::steady_clock::time_point;

  virtual ~waiting_call() = default;

  /// Ends the call where it has waited for longer than it may.
  virtual void look_at_the_time(instant now) = 0;
};

/// Has calls look at the time again and again, for a caller who says nothing more can't be noticed
/// otherwise.
class waiting_for_callers {
public:
  waiting_for_callers();
  ~waiting_for_callers();
  waiting_for_callers(const waiting_for_callers&) = delete;
  waiting_for_callers& operator=(const waiting_for_callers&) = delete;

  void add(std::weak_ptr<waiting_call> call);

private:
  void run();

  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::vector<std::weak_ptr<waiting_call>> calls_;
  std::thread thread_;
};

} // namespace reprieve
