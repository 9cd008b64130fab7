#pragma once

#include "actors/gateway/gateway.hpp"
#include "state/store/joint_transaction.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace reprieve {

/// Changes of several shards that are made together, or not at all: each shard lends what it would
/// write, and all of it is written in one transaction. What one transaction does not take is not
/// done (`kOutOfRange`), unless all promise what they would write, and only the promises are
/// written in one. Somebody else may change something at the same moment (`kAborted`).
class bundle : public std::enable_shared_from_this<bundle> {
public:
  using self_pointer = gateway_pointer;

  enum size { little, much };

  bundle(self_pointer self, size how_much, std::function<void(absl::Status)> done);

  /// The shard's part. It is known by its name, as all who make bundles ask shards in one order.
  template <class Actor, class Change>
  void add(std::string shard, Actor whom, Change change) {
    part made;
    made.ask = [self = self_, id = id_, promised = size_ == much, whom,
                change = std::make_shared<const Change>(std::move(change))](auto then) {
      // It may wait for another bundle that nobody ends.
      self->request(whom, 2 * answer_time, lend<Change>{id, *change, promised})
        .then([then](lent_result& batch) { then(std::move(batch)); },
              [then](caf::error& error) { then(lent_result(to_status(error))); });
    };
    made.end = [self = self_, whom](lent_end how, auto then) {
      self->request(whom, answer_time, std::move(how))
        .then([then](absl::Status& end) { then(end); },
              [then](caf::error& error) { then(to_status(error)); });
    };
    parts_.emplace(std::move(shard), std::move(made));
  }

  void start();

private:
  struct part {
    std::function<void(std::function<void(lent_result)>)> ask;
    std::function<void(lent_end, std::function<void(absl::Status)>)> end;
  };
  using part_pointer = std::map<std::string, part>::const_iterator;

  void ask(part_pointer next);
  void write();
  void find_out(absl::Status why);
  void give_up(absl::Status why);
  void end_all(lent_end::kind how, revision at, std::function<void()> then);

  self_pointer self_;
  enum size size_;
  std::string id_;
  std::function<void(absl::Status)> done_;
  std::map<std::string, part> parts_; ///< by shard
  std::size_t asked_ = 0;             ///< the first so many were
  joint_transaction whole_;
  bool is_known_ = false; ///< whether a shard could tell what became of it
  bool is_written_ = false;
};

/// What is done together, or in turn where that can't be.
struct joint_change {
  std::function<void(bundle&)> together;
  std::function<void()> in_turn;
  std::function<void(absl::Status)> done;
};

/// Makes a change of so many objects.
void make_together(gateway_pointer self, const joint_change& change, std::size_t objects);

} // namespace reprieve
