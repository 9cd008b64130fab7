#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace reprieve {

/// A fixed number of threads for calls that block, begun in the order they are posted.
class call_threads {
public:
  explicit call_threads(std::size_t number);
  ~call_threads();

  call_threads(const call_threads&) = delete;
  call_threads& operator=(const call_threads&) = delete;

  void post(std::function<void()> call);

  /// Returns when all that is posted has ended. What is posted afterwards is dropped. Not to be
  /// called on one of the threads.
  void stop();

private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

} // namespace reprieve
