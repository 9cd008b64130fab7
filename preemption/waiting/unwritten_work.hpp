#pragma once

#include "state/quantities/time.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace reprieve {

/// Workloads for which a decision was made that could not be written, so that nobody else has to do
/// with that. Of a decision for several it is not known whose part it was: each of them has its
/// next ones by itself, in smaller and smaller parts. One for which even the smallest can't be
/// written is put aside, for longer each time.
class unwritten_work {
public:
  static constexpr std::size_t most_pods_at_once = 512;
  static constexpr std::chrono::seconds first_pause{1};
  static constexpr std::chrono::seconds longest_pause{300};

  /// A decision that places so many pods of these could not be written. `whole` tells that there
  /// are no smaller parts.
  void failed(std::span<const std::string> workloads, std::size_t pods, bool whole,
              std::string_view why, time_point now);
  /// One was written that places pods of these.
  void succeeded(std::span<const std::string> workloads);
  /// It is another by now, or gone.
  void forget(std::string_view workload);

  /// How many of its pods a decision may place, and those of nobody else; nothing where it shares
  /// its decisions with others.
  std::optional<std::size_t> most_by_itself(std::string_view workload) const;

  /// Why the workload is put aside now, and until when.
  struct put_aside {
    std::string why;
    time_point until = no_time;
  };
  std::optional<put_aside> aside(std::string_view workload, time_point now) const;
  /// Calls `use(workload)` for each whose time has come since this was asked last; returns when
  /// that of the next comes, `no_time` where there is none.
  template <class F>
  time_point each_due(time_point now, F use) {
    auto next = no_time;
    for (auto& [name, one] : all_) {
      if (one.until == no_time)
        continue;
      if (one.until <= now) {
        one.until = no_time;
        use(name);
      } else if (next == no_time || one.until < next) {
        next = one.until;
      }
    }
    return next;
  }

  bool empty() const {
    return all_.empty();
  }

private:
  struct entry {
    std::size_t most = most_pods_at_once;
    int times = 0; ///< that it was put aside
    std::string why;
    time_point until = no_time;
  };

  std::map<std::string, entry, std::less<>> all_;
};

} // namespace reprieve
