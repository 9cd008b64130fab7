#pragma once

#include "state/quantities/time.hpp"

#include <absl/status/statusor.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace reprieve {

/// One thread that runs tasks in the order they are posted, and others at times of the boot clock,
/// which a timer of the system counts through suspension.
class event_thread {
public:
  static absl::StatusOr<std::shared_ptr<event_thread>> start();

  event_thread(const event_thread&) = delete;
  event_thread& operator=(const event_thread&) = delete;
  ~event_thread();

  void post(std::function<void()> task);
  void post_at(duration boot_time, std::function<void()> task);

  /// Runs what is posted, drops what waits for its time, and ends the thread. What is posted
  /// afterwards is dropped. Not to be called on the thread itself.
  void stop();

private:
  explicit event_thread(int timer);

  void run();
  bool take(std::deque<std::function<void()>>& due);
  void set_timer(duration boot_time);

  const int timer_;
  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;
  std::multimap<duration, std::function<void()>> timed_;
  bool stopping_ = false;
  std::thread thread_;
};

} // namespace reprieve
