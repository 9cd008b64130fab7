#pragma once

#include <mutex>
#include <utility>

namespace reprieve {

/// Lets callbacks through until it is closed. Closing waits for a callback that runs on another
/// thread; a callback may close its own gate, which is why the mutex is recursive.
class callback_gate {
public:
  template <class Callback, class... Arguments>
  void pass(const Callback& callback, Arguments&&... arguments) {
    std::lock_guard lock(mutex_);
    if (!closed_)
      callback(std::forward<Arguments>(arguments)...);
  }

  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }

private:
  std::recursive_mutex mutex_;
  bool closed_ = false;
};

} // namespace reprieve
