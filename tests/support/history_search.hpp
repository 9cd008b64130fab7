#pragma once

#include "tests/support/history_model.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace reprieve {

/// Something that may be the case: how the workload is, and which of the calls under way have been
/// carried out.
struct possibility {
  model_state state;
  std::vector<std::uint32_t> done; ///< in order

  bool operator==(const possibility&) const = default;

  bool has_done(std::uint32_t call) const {
    return std::binary_search(done.begin(), done.end(), call);
  }
  void set_done(std::uint32_t call) {
    done.insert(std::upper_bound(done.begin(), done.end(), call), call);
  }
};

struct possibility_hash {
  std::size_t operator()(const possibility& one) const;
};

using possibilities = std::unordered_set<possibility, possibility_hash>;

/// Gives equal things the same number, from 1 on.
template <class T>
class numbering {
public:
  std::int32_t operator()(const T& what) {
    const auto [found, fresh] =
      numbers_.try_emplace(what, static_cast<std::int32_t>(values_.size()) + 1);
    if (fresh)
      values_.push_back(what);
    return found->second;
  }
  const T& value(std::int32_t number) const {
    return values_[static_cast<std::size_t>(number) - 1];
  }

private:
  std::map<T, std::int32_t> numbers_;
  std::vector<T> values_;
};

/// The start or the end of a call. A call of unknown end has none, or ends when it is too late for
/// it to have an effect.
struct history_event {
  duration at{0};
  bool is_return = false; ///< what begins when another ends may have been before it
  std::uint32_t call = 0;

  auto operator<=>(const history_event&) const = default;
};

/// In their order in time.
std::vector<history_event> events_of(const std::vector<recorded_call>& calls,
                                     std::optional<duration> latest_effect);

/// Goes along the history of one workload. The search keeps all that can be the case: the state,
/// and which of the calls under way are carried out already. When an answer comes, its call has
/// been carried out, or is now, behind any of the others under way; where that can't be, nothing
/// can.
class history_search {
public:
  /// Calls are in the order they began.
  history_search(std::vector<recorded_call> calls, const history_limits& limits);

  /// Looks only where no more than `surprises` calls of unknown end are carried out between two
  /// answers. What that explains is explained; where it explains nothing, more may.
  void expect_at_most(int surprises) {
    surprises_ = surprises;
  }

  enum class result { explained, unexplained, undecided };
  result run();

  /// The event that the search ended with.
  std::size_t now() const {
    return now_;
  }

  /// What the workload can be then, in words.
  std::string possible_states() const;

  /// A moment at which there was no doubt how the workload is.
  struct certainty {
    std::size_t ended = 0;  ///< so many calls had ended by then
    std::size_t events = 0; ///< so many events were past
    std::string state;      ///< in words
  };
  /// The last one with so many calls ended at the most.
  certainty last_certainty(std::size_t most_ended) const;

private:
  model_call in_numbers(const recorded_call& call);
  void begin(std::uint32_t call);
  bool end(std::uint32_t call);
  bool give_up(std::uint32_t call);
  void take_as_ended(std::uint32_t call, possibilities next);
  bool look_behind(std::vector<possibility> from, std::uint32_t call, possibilities& next);
  void drop_what_adds_nothing(possibilities& from) const;
  bool is_unknown(std::uint32_t call) const {
    return modelled_[call].how == call_end::unknown;
  }
  std::vector<possibility> carry_out(const possibility& before, std::uint32_t call) const;
  bool is_one_of_several(const possibility& before, std::uint32_t call) const;
  possibility with_free_calls(possibility one) const;
  void forget_uids(model_state& state) const;
  void note_certainty();
  std::string text_of(const model_state& state) const;

  struct certain_moment {
    std::size_t ended = 0;
    std::size_t events = 0;
    model_state state;
  };

  std::vector<recorded_call> calls_;
  std::size_t effort_;
  int surprises_ = std::numeric_limits<int>::max();
  numbering<group_counts> counts_;
  numbering<std::string> uids_;
  std::vector<model_call> modelled_;
  std::vector<history_event> events_;
  std::map<std::int32_t, std::size_t> last_seen_; ///< event, by uid

  std::size_t now_ = 0;
  std::size_t ended_ = 0;           ///< calls
  std::vector<std::uint32_t> open_; ///< calls under way, in order; those of unknown end stay
  possibilities possible_{possibility{}};
  std::size_t looked_at_ = 0;
  std::vector<certain_moment> certain_{certain_moment{}};
};

} // namespace reprieve
