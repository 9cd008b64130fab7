#pragma once

#include "actors/caf.hpp"
#include "actors/store_door.hpp"
#include "protocol/records.hpp"
#include "state/keys.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// Which of the store's decisions are meant, by what stands in their keys, and by all they hold.
using head_filter = std::function<bool(const decision_head&)>;
using decision_filter = std::function<bool(const decision&)>;

/// Finds the newest decisions, `most` at the most, whose heads pass `coarse` and that pass `fine`
/// (where it is given) when they are read whole. Calls `done` with them, newest first. Each answer
/// of the store is waited for up to `time`.
template <class Self, class F>
void find_decisions(Self self, store_door_actor store, head_filter coarse, decision_filter fine,
                    std::size_t most, F done, std::chrono::seconds time = answer_time);

namespace detail {

/// A search through the decisions in the store, under way.
template <class Self, class F>
struct decision_search : std::enable_shared_from_this<decision_search<Self, F>> {
  Self self;
  store_door_actor store;
  decision_filter fine;
  std::size_t most = 0;
  F done;
  std::chrono::seconds time;
  std::vector<decision> heads; ///< newest last
  std::vector<decision> found;

  decision_search(Self who, store_door_actor from, decision_filter filter, std::size_t limit,
                  F then, std::chrono::seconds patience)
      : self(who), store(std::move(from)), fine(std::move(filter)), most(limit),
        done(std::move(then)), time(patience) {}

  /// Reads the bodies of the newest head that is left.
  void next() {
    if (heads.empty() || found.size() == most) {
      done(absl::StatusOr<std::vector<decision>>(std::move(found)));
      return;
    }
    auto head = std::move(heads.back());
    heads.pop_back();
    range_request bodies{with_prefix(keys::bodies_of(head.id)), 0, 0, false};
    self->request(store, time, std::move(bodies))
      .then(
        [search = this->shared_from_this(), head](range_answer& answer) mutable {
          if (!answer.ok()) {
            search->done(absl::StatusOr<std::vector<decision>>(answer.status()));
            return;
          }
          for (const auto& chunk : answer->values)
            if (!add_body(head, chunk.value).ok())
              break;
          if (!search->fine || search->fine(head))
            search->found.push_back(std::move(head));
          search->next();
        },
        [search = this->shared_from_this()](caf::error& error) {
          search->done(absl::StatusOr<std::vector<decision>>(to_status(error)));
        });
  }
};

} // namespace detail

template <class Self, class F>
void find_decisions(Self self, store_door_actor store, head_filter coarse, decision_filter fine,
                    std::size_t most, F done, std::chrono::seconds time) {
  auto search = std::make_shared<detail::decision_search<Self, F>>(self, store, std::move(fine),
                                                                   most, std::move(done), time);
  // "d/done/" stands before "d/open/": one range from the one to the end of the other.
  range_request heads{
    {std::string(keys::done_decisions), with_prefix(std::string(keys::open_decisions)).end},
    0,
    0,
    false};
  self->request(store, time, std::move(heads))
    .then(
      [search, coarse = std::move(coarse)](range_answer& answer) {
        if (!answer.ok()) {
          search->done(absl::StatusOr<std::vector<decision>>(answer.status()));
          return;
        }
        for (const auto& one : answer->values)
          if (auto head = decode<decision_head>(one.value); head.ok() && coarse(*head))
            search->heads.push_back(std::move(head->summary));
        std::sort(search->heads.begin(), search->heads.end(),
                  [](const decision& a, const decision& b) { return a.id < b.id; });
        search->next();
      },
      [search](caf::error& error) {
        search->done(absl::StatusOr<std::vector<decision>>(to_status(error)));
      });
}

} // namespace reprieve
