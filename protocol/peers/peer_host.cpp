#include "protocol/peers/peer_host.hpp"

#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

position_reader position_of(std::weak_ptr<store> behind) {
  return [behind = std::move(behind)](std::function<void(absl::StatusOr<store_position>)> done) {
    const auto there = behind.lock();
    if (!there) {
      done(absl::UnavailableError("the store is closed"));
      return;
    }
    there->read({just(std::string(keys::schema)), 1, 0, false},
                [done = std::move(done)](const absl::StatusOr<range_result>& found) {
                  if (!found.ok()) {
                    done(found.status());
                    return;
                  }
                  store_position position{found->current, 0};
                  for (const auto& one : found->values)
                    if (const auto schema = decode<schema_record>(one.value); schema.ok())
                      position.epoch_base = schema->epoch_base;
                  done(position);
                });
  };
}

bool peer_host::is_given(revision epoch) const {
  const std::lock_guard lock(mutex_);
  return !read_ || epoch <= known_.current;
}

bool peer_host::is_given_with_base(revision epoch) const {
  const std::lock_guard lock(mutex_);
  return !read_ || epoch <= known_.current + known_.epoch_base;
}

void peer_host::read_position(std::function<void(absl::StatusOr<store_position>)> done) {
  read_(
    [me = shared_from_this(), done = std::move(done)](const absl::StatusOr<store_position>& found) {
      if (found.ok()) {
        const std::lock_guard lock(me->mutex_);
        me->known_.current = std::max(me->known_.current, found->current);
        me->known_.epoch_base = found->epoch_base;
      }
      done(found);
    });
}

void peer_host::say(const std::string& what) const {
  if (say_)
    say_(what);
}

void peer_host::serve(std::shared_ptr<const local_shards> here) {
  const std::lock_guard lock(mutex_);
  here_ = std::move(here);
}

std::shared_ptr<const local_shards> peer_host::here() const {
  const std::lock_guard lock(mutex_);
  return here_;
}

bool peer_host::may_decide(const std::string& group, revision epoch) const {
  const std::lock_guard lock(mutex_);
  if (here_->coordinators.contains(coordinator_of(group)))
    return false;
  const auto found = newest_.find(group);
  return found == newest_.end() || epoch >= found->second;
}

void peer_host::begins(const std::string& group, revision epoch) {
  const std::lock_guard lock(mutex_);
  auto& newest = newest_[group];
  newest = std::max(newest, epoch);
}

} // namespace reprieve
