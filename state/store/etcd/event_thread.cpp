#include "state/store/etcd/event_thread.hpp"

#include "state/store/boot_clock.hpp"

#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace reprieve {

namespace {

/// A time of the boot clock that is always over, and still sets a timer: zero would stop it.
constexpr duration at_once{1};

} // namespace

absl::StatusOr<std::shared_ptr<event_thread>> event_thread::start() {
  const int timer = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
  if (timer < 0)
    return absl::ResourceExhaustedError(
      fmt::format("cannot make a timer: {}; is the limit of open files too low?",
                  std::generic_category().message(errno)));
  return std::shared_ptr<event_thread>(new event_thread(timer));
}

event_thread::event_thread(int timer) : timer_(timer), thread_([this] { run(); }) {}

event_thread::~event_thread() {
  stop();
  ::close(timer_);
}

void event_thread::post(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  if (stopping_)
    return;
  posted_.push_back(std::move(task));
  if (posted_.size() == 1)
    set_timer(at_once);
}

void event_thread::post_at(duration boot_time, std::function<void()> task) {
  std::lock_guard lock(mutex_);
  if (stopping_)
    return;
  const auto added = timed_.emplace(boot_time, std::move(task));
  if (posted_.empty() && added == timed_.begin())
    set_timer(boot_time);
}

void event_thread::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    set_timer(at_once);
  }
  if (thread_.joinable())
    thread_.join();
  timed_.clear();
}

void event_thread::run() {
  std::deque<std::function<void()>> due;
  std::uint64_t expirations = 0;
  while (take(due)) {
    if (due.empty()) // nothing to do before the timer goes off; what wakes us early is harmless
      (void)!::read(timer_, &expirations, sizeof expirations);
    for (; !due.empty(); due.pop_front())
      due.front()();
  }
}

/// Moves what is to run now to `due`, or sets the timer for the next task. False at the end.
bool event_thread::take(std::deque<std::function<void()>>& due) {
  std::lock_guard lock(mutex_);
  due = std::exchange(posted_, {});
  if (stopping_)
    return !due.empty();
  for (const auto now = boot_time(); !timed_.empty() && timed_.begin()->first <= now;
       timed_.erase(timed_.begin()))
    due.push_back(std::move(timed_.begin()->second));
  if (due.empty())
    set_timer(timed_.empty() ? duration::zero() : timed_.begin()->first);
  return true;
}

void event_thread::set_timer(duration boot_time) {
  using std::chrono::seconds;
  const auto whole = std::chrono::duration_cast<seconds>(boot_time);
  itimerspec at{};
  at.it_value.tv_sec = whole.count();
  at.it_value.tv_nsec = (boot_time - whole).count();
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

} // namespace reprieve
