#pragma once

#include "actors/store_door.hpp"

#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

using key_values = std::vector<key_value>;

/// Reads everything below the prefixes, page by page; calls `done` with it, or with why not.
template <class Self>
void read_all(Self self, store_door_actor store, std::vector<std::string> prefixes,
              std::function<void(absl::StatusOr<key_values>)> done,
              std::shared_ptr<key_values> found = std::make_shared<key_values>(),
              std::string from = {}) {
  constexpr std::int64_t page = 2'000;
  if (prefixes.empty()) {
    done(std::move(*found));
    return;
  }
  auto range = with_prefix(prefixes.front());
  if (!from.empty())
    range.begin = from;
  self->request(store, caf::infinite, range_request{range, page, 0, false})
    .then(
      [self, store, prefixes = std::move(prefixes), done, found](range_answer& answer) mutable {
        if (!answer.ok()) {
          done(answer.status());
          return;
        }
        std::move(answer->values.begin(), answer->values.end(), std::back_inserter(*found));
        std::string next;
        if (answer->more)
          next = found->back().key + '\0';
        else
          prefixes.erase(prefixes.begin());
        read_all(self, std::move(store), std::move(prefixes), std::move(done), found,
                 std::move(next));
      },
      [done](caf::error& error) { done(to_status(error)); });
}

} // namespace reprieve
