#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>

namespace reprieve {

/// A copy of this process that carries out orders, so that its processor time and threads do not
/// mix with ours. Orders and what came of them travel as bytes.
template <class Order, class Account>
class other_process {
public:
  static_assert(std::is_trivially_copyable_v<Order> && std::is_trivially_copyable_v<Account>);

  /// Must be made before anything in this process starts a thread. `carry_out` runs in the other.
  explicit other_process(const std::function<Account(const Order&)>& carry_out) {
    int orders[2] = {-1, -1};
    int answers[2] = {-1, -1};
    if (pipe(orders) != 0 || pipe(answers) != 0)
      return;
    process_ = fork();
    if (process_ == 0) {
      close(orders[1]);
      close(answers[0]);
      for (Order order; read_whole(orders[0], order);)
        if (!write_whole(answers[1], carry_out(order)))
          break;
      _exit(0); // the first process has ended, or has heard enough
    }
    close(orders[0]);
    close(answers[1]);
    orders_ = orders[1];
    answers_ = answers[0];
  }

  ~other_process() {
    close(orders_);
    close(answers_);
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
  }

  other_process(const other_process&) = delete;
  other_process& operator=(const other_process&) = delete;

  /// Waits until it is carried out; nothing where the other process has ended.
  std::optional<Account> carry_out(const Order& order) {
    Account account;
    if (process_ <= 0 || !write_whole(orders_, order) || !read_whole(answers_, account))
      return std::nullopt;
    return account;
  }

private:
  template <class T>
  static bool write_whole(int to, const T& what) {
    return ::write(to, &what, sizeof what) == static_cast<ssize_t>(sizeof what);
  }

  template <class T>
  static bool read_whole(int from, T& what) {
    auto* at = reinterpret_cast<char*>(&what);
    for (std::size_t got = 0; got < sizeof what;) {
      const auto more = ::read(from, at + got, sizeof what - got);
      if (more <= 0)
        return false;
      got += static_cast<std::size_t>(more);
    }
    return true;
  }

  pid_t process_ = 0;
  int orders_ = -1;
  int answers_ = -1;
};

} // namespace reprieve
