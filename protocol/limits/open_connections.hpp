#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

namespace reprieve {

/// A connection that was let in.
struct open_connection {
  using instant = std::chrono::steady_clock::time_point;

  std::string end;     ///< address and port of the other side
  std::string host;    ///< for which it counts: an address, or a network of IPv6
  int descriptor = -1; ///< which is another one's as soon as it is closed
  ino_t socket = 0;
  instant since{};
  bool known = false;       ///< a call that came by it was let in
  std::string caller;       ///< who made that call; empty where there is no name
  std::uint64_t number = 0; ///< in the order in which they came
  std::uint64_t used = 0;   ///< likewise, but for those by which calls were let in later
  instant refused_since{};  ///< from when the refusals are counted
  int refusals = 0;
};

/// The connections that are open, how many of them each address and each caller holds, and which
/// one goes where there is no room for another. Whoever holds most gives way, known or not: else
/// somebody with a token and two addresses could keep everybody else out.
class open_connections {
public:
  using instant = open_connection::instant;

  struct bounds {
    std::int64_t most = 0;
    std::int64_t most_per_host = 0;
  };

  /// How long ago anything was said over a connection.
  using silence = std::function<std::chrono::milliseconds(const open_connection&)>;

  explicit open_connections(const bounds& with);
  open_connections(const open_connections&) = delete;
  open_connections& operator=(const open_connections&) = delete;

  /// A stranger's, unless `one` says that it is known. `one.end` is no other's.
  void add(open_connection one);
  void forget(open_connection& which);
  open_connection* find(const std::string& end);

  /// A call of that caller came by it and was let in.
  void let_in_call(open_connection& by, const std::string& caller);

  bool is_full_for(const std::string& host) const;

  /// One whose end may give the host room; null where nobody is to give way.
  open_connection* to_end_for(const std::string& host, instant now, const silence& silent_for);

  std::unordered_map<std::string, open_connection>& all() {
    return open_;
  }
  /// The oldest first.
  const std::map<std::uint64_t, open_connection*>& strangers() const {
    return strangers_;
  }

private:
  /// What an address or a caller holds.
  struct holder {
    std::int64_t strangers = 0;
    std::map<std::uint64_t, open_connection*> by_use; ///< what was used longest ago first

    std::int64_t size() const {
      return static_cast<std::int64_t>(by_use.size());
    }
  };
  using holders = std::unordered_map<std::string, holder>;

  open_connection* oldest_stranger(const std::string& host, instant now) const;
  holder* who_gives_way_to(const std::string& host);
  open_connection* idle_one_of(holder& of, const silence& silent_for);
  std::int64_t held_by_caller_of(const open_connection& one) const;
  /// Puts it behind the others that its address and its caller hold.
  void note_use(open_connection& of);

  bounds with_;
  std::int64_t most_strangers_ = 0;
  std::int64_t most_strangers_per_host_ = 0;
  std::unordered_map<std::string, open_connection> open_; ///< by the other end
  std::map<std::uint64_t, open_connection*> strangers_;
  holders hosts_;
  holders callers_;
  std::uint64_t last_number_ = 0;
};

} // namespace reprieve
