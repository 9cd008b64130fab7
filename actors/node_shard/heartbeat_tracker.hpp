#pragma once

#include "state/quantities/time.hpp"

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reprieve {

/// When each of many was last heard from, in the order of that: whoever speaks goes to the end, so
/// that whoever has been silent longest is at the front, and neither needs a look at the others.
class heartbeat_tracker {
public:
  /// Takes note that it spoke; false where it is not watched.
  bool heard(std::string_view name, time_point now) {
    const auto found = places_.find(name);
    if (found == places_.end())
      return false;
    move_to_end(found->second, now);
    return true;
  }

  /// Watches it from now on.
  void watch(std::string_view name, time_point now) {
    if (heard(name, now))
      return;
    const auto place = order_.insert(order_.end(), {std::string(name), now});
    places_.emplace(place->name, place);
  }

  void forget(std::string_view name) {
    const auto found = places_.find(name);
    if (found == places_.end())
      return;
    const auto place = found->second;
    places_.erase(found);
    order_.erase(place);
  }

  void clear() {
    places_.clear();
    order_.clear();
  }

  /// Forgives all silence so far.
  void count_from(time_point now) {
    for (auto& one : order_)
      one.at = now;
  }

  bool empty() const {
    return order_.empty();
  }

  /// Since when whoever is silent longest is.
  time_point longest_silent_since() const {
    return order_.front().at;
  }

  /// Those that were last heard by then, who are watched no more.
  std::vector<std::string> take_silent_since(time_point limit) {
    std::vector<std::string> silent;
    while (!order_.empty() && order_.front().at <= limit) {
      places_.erase(order_.front().name);
      silent.push_back(std::move(order_.front().name));
      order_.pop_front();
    }
    return silent;
  }

private:
  struct last_word {
    std::string name;
    time_point at = no_time;
  };
  using place = std::list<last_word>::iterator;

  void move_to_end(place one, time_point now) {
    one->at = now;
    order_.splice(order_.end(), order_, one);
  }

  std::list<last_word> order_;
  std::unordered_map<std::string_view, place> places_; ///< keys are the names in `order_`
};

} // namespace reprieve
