#pragma once

#include "actors/durability/store_actor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

using key_values = std::vector<key_value>;

/// Takes in a page of what is read; where that is not ok, no more are read.
using page_reader = std::function<absl::Status(key_values)>;

namespace detail {

/// A reading of several prefixes, under way.
template <class Self>
class page_reading : public std::enable_shared_from_this<page_reading<Self>> {
public:
  page_reading(Self self, store_actor store, std::vector<std::string> prefixes, page_reader each,
               std::function<void(absl::Status)> done)
      : self_(self), store_(std::move(store)), prefixes_(std::move(prefixes)),
        each_(std::move(each)), done_(std::move(done)) {}

  void begin() {
    if (prefixes_.empty())
      end(absl::OkStatus());
    else
      ask({});
  }

private:
  void ask(std::string from) {
    auto range = with_prefix(prefixes_.front());
    if (!from.empty())
      range.begin = std::move(from);
    self_->request(store_, caf::infinite, range_request{std::move(range), keys_, 0, false})
      .then([me = this->shared_from_this()](range_answer& answer) { me->take(answer); },
            [me = this->shared_from_this()](caf::error& error) { me->end(to_status(error)); });
  }

  /// Asks for the next page first, so that the store reads it while this one is taken in.
  void take(range_answer& answer) {
    if (over_)
      return;
    if (!answer.ok()) {
      end(answer.status());
      return;
    }
    std::string next;
    if (answer->more) {
      next = answer->values.back().key + '\0';
      choose_size(answer->values);
    } else {
      prefixes_.erase(prefixes_.begin());
    }
    const bool last = prefixes_.empty();
    if (!last)
      ask(std::move(next));
    auto taken = each_(std::move(answer->values));
    if (last || !taken.ok())
      end(std::move(taken));
  }

  /// For every page etcd counts all keys that are left, so that there must not be many pages: of
  /// small records more are asked for.
  void choose_size(const key_values& page) {
    constexpr std::size_t wanted_bytes = 4 << 20;
    constexpr std::size_t most = 50'000;
    std::size_t bytes = 1;
    for (const auto& one : page)
      bytes += one.key.size() + one.value.size();
    keys_ =
      static_cast<std::int64_t>(std::clamp(wanted_bytes * page.size() / bytes, least_keys, most));
  }

  void end(absl::Status how) {
    if (!std::exchange(over_, true))
      done_(std::move(how));
  }

  static constexpr std::size_t least_keys = 500;

  Self self_;
  store_actor store_;
  std::vector<std::string> prefixes_; ///< that are not read to their end
  page_reader each_;
  std::function<void(absl::Status)> done_;
  std::int64_t keys_ = 2'000; ///< of the next page
  bool over_ = false;
};

} // namespace detail

/// Reads everything below the prefixes, page by page; calls `done` when all is taken in, or with
/// why not.
template <class Self>
void read_pages(Self self, store_actor store, std::vector<std::string> prefixes, page_reader each,
                std::function<void(absl::Status)> done) {
  std::make_shared<detail::page_reading<Self>>(self, std::move(store), std::move(prefixes),
                                               std::move(each), std::move(done))
    ->begin();
}

/// Likewise, and calls `done` with all there is.
template <class Self>
void read_all(Self self, store_actor store, std::vector<std::string> prefixes,
              std::function<void(absl::StatusOr<key_values>)> done) {
  auto found = std::make_shared<key_values>();
  read_pages(
    self, std::move(store), std::move(prefixes),
    [found](key_values page) {
      std::move(page.begin(), page.end(), std::back_inserter(*found));
      return absl::OkStatus();
    },
    [found, done = std::move(done)](const absl::Status& how) {
      if (how.ok())
        done(std::move(*found));
      else
        done(how);
    });
}

} // namespace reprieve
