#include "actors/gateway/gateway_bundle.hpp"

#include "state/model/unchanged_error.hpp"

#include <fmt/format.h>

#include <iterator>

namespace reprieve {

bundle::bundle(self_pointer self, enum size how_much, std::function<void(absl::Status)> done)
    : self_(self), size_(how_much),
      id_(fmt::format("{}.{:x}", self->state.serving->replica, ++self->state.bundles)),
      done_(std::move(done)) {}

void bundle::start() {
  ask(parts_.begin());
}

/// One after the other: nobody who has lent something waits for somebody who waits for it.
void bundle::ask(part_pointer next) {
  if (next == parts_.end()) {
    write();
    return;
  }
  ++asked_;
  next->second.ask([me = shared_from_this(), next](lent_result batch) {
    if (absl::IsCancelled(
          batch.status())) // it had a name that was taken meanwhile, or took too long
      me->give_up(came_in_between());
    else if (!batch.ok())
      me->give_up(batch.status());
    else if (!me->whole_.has_room_for(batch->writes))
      me->give_up(absl::OutOfRangeError("it is too much for one transaction"));
    else if (me->whole_.add(batch->writes))
      me->ask(std::next(next));
    else // an owner has another epoch than when the others were asked
      me->give_up(came_in_between());
  });
}

void bundle::write() {
  self_->request(self_->state.serving->store, caf::infinite, whole_.whole())
    .then(
      [me = shared_from_this()](transaction_answer& answer) {
        if (answer.ok() && answer->succeeded)
          me->end_all(lent_end::written, answer->current, [me] { me->done_(absl::OkStatus()); });
        else if (answer.ok())
          me->give_up(came_in_between());
        else if (may_arrive_late(answer.status()))
          me->find_out(answer.status());
        else
          me->give_up(answer.status());
      },
      [me = shared_from_this()](caf::error& error) { me->find_out(to_status(error)); });
}

/// The store did not say: the shards find out, and see to it that it stays so.
void bundle::find_out(absl::Status why) {
  end_all(lent_end::unknown, 0, [me = shared_from_this(), why = std::move(why)] {
    if (!me->is_known_)
      me->done_(why);
    else if (me->is_written_)
      me->done_(absl::OkStatus());
    else
      me->done_(saying_nothing_changed(absl::UnavailableError(why.message())));
  });
}

/// Nothing of it was written, nor will be. Who refuses it says what is wrong with it; who was not
/// there does not say what that means.
void bundle::give_up(absl::Status why) {
  end_all(lent_end::refused, 0, [me = shared_from_this(), why = std::move(why)] {
    me->done_(absl::IsUnavailable(why) ? saying_nothing_changed(why) : mark_nothing_changed(why));
  });
}

/// Tells all who were asked, and goes on when each has answered.
void bundle::end_all(lent_end::kind how, revision at, std::function<void()> then) {
  auto left = std::make_shared<std::size_t>(asked_);
  if (asked_ == 0)
    then();
  else
    ++self_->state.ending;
  std::size_t told = 0;
  for (const auto& [shard, one] : parts_) {
    if (told++ == asked_)
      break;
    one.end(lent_end{how, id_, at}, [me = shared_from_this(), left, then](const absl::Status& end) {
      me->is_written_ = me->is_written_ || end.ok();
      me->is_known_ = me->is_known_ || end.ok() || absl::IsCancelled(end);
      if (--*left > 0)
        return;
      --me->self_->state.ending;
      then();
    });
  }
}

namespace {

/// What goes into one transaction together, at most.
constexpr std::size_t most_in_a_bundle = 100;

/// Whether all of it can't be done by one transaction, or by replicas that know of that.
bool is_to_be_done_in_turn(const absl::Status& how) {
  return absl::IsOutOfRange(how) || absl::IsUnimplemented(how);
}

void make_together(gateway_pointer self, const joint_change& change, enum bundle::size size) {
  const auto all = std::make_shared<bundle>(self, size, [=](const absl::Status& how) {
    if (absl::IsOutOfRange(how) && size == bundle::little)
      make_together(self, change, bundle::much);
    else if (is_to_be_done_in_turn(how))
      change.in_turn();
    else
      change.done(how);
  });
  change.together(*all);
  all->start();
}

} // namespace

void make_together(gateway_pointer self, const joint_change& change, std::size_t objects) {
  make_together(self, change, objects > most_in_a_bundle ? bundle::much : bundle::little);
}

} // namespace reprieve
