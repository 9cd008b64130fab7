#include "apps/daemon/ending.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace reprieve {

static constexpr std::chrono::milliseconds most_to_end{8000};

ending::ending() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  signals_ = signalfd(-1, &ends, SFD_CLOEXEC);
  ended_ = eventfd(0, EFD_CLOEXEC);
  watch_ = std::thread([this] { watch(); });
}

ending::~ending() {
  (void)eventfd_write(ended_, 1);
  watch_.join();
  close(ended_);
  close(signals_);
}

void ending::lost(const std::string& why) {
  fmt::print(stderr, "reprieved: {}\n", why);
  lost_ = true;
  kill(getpid(), SIGTERM);
}

void ending::serves() {
  serves_ = true;
}

int ending::wait() {
  pollfd waited{signals_, POLLIN, 0};
  while (poll(&waited, 1, -1) < 0) {
  }
  return lost_ ? 1 : 0;
}

void ending::watch() {
  std::array<pollfd, 2> waited{{{ended_, POLLIN, 0}, {signals_, POLLIN, 0}}};
  while (poll(waited.data(), waited.size(), -1) < 0) {
  }
  if (waited[0].revents != 0)
    return;
  if (!serves_)
    std::_Exit(lost_ ? 1 : 0);
  if (poll(waited.data(), 1, static_cast<int>(most_to_end.count())) == 0)
    std::_Exit(1);
}

} // namespace reprieve
