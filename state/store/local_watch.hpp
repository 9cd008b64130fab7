#pragma once

#include "state/store/callback_gate.hpp"
#include "state/store/store.hpp"

#include <algorithm>
#include <span>

namespace reprieve {

/// One watch of a store that lives in this process. The store keeps it weakly, the caller's handle
/// owns it.
class local_watch {
public:
  local_watch(key_range range, revision from, store_callback<watch_batch> each)
      : range_(std::move(range)), next_(from), each_(std::move(each)) {}

  /// The first revision it has not seen; 0 until it starts.
  revision next() const {
    return next_;
  }

  void start_at(revision next) {
    next_ = next;
  }

  /// Those of `changes` that it asked for and has not seen, in the order given. Moves `next` behind
  /// `current`, the last revision among `changes`. Not for two threads at once.
  watch_batch select(std::span<const change> changes, revision current);

  bool wants(std::string_view key) const {
    return contains(range_, key);
  }

  void pass(absl::StatusOr<watch_batch> batch) {
    gate_.pass(each_, std::move(batch));
  }

  void close() {
    gate_.close();
  }

private:
  key_range range_;
  revision next_;
  store_callback<watch_batch> each_;
  callback_gate gate_;
};

/// What the caller holds: closes its watch when it goes.
class local_watch_handle : public watch_handle {
public:
  explicit local_watch_handle(std::shared_ptr<local_watch> watch) : watch_(std::move(watch)) {}

  ~local_watch_handle() override {
    watch_->close();
  }

private:
  std::shared_ptr<local_watch> watch_;
};

/// The watches of one store, in the order they were made; those whose handle has gone drop out.
class local_watches {
public:
  void add(std::weak_ptr<local_watch> watch) {
    watches_.push_back(std::move(watch));
  }

  /// Whether somebody is to see the changes of the key.
  bool want(std::string_view key) const {
    return std::ranges::any_of(watches_, [&](const std::weak_ptr<local_watch>& held) {
      const auto watch = held.lock();
      return watch && watch->wants(key);
    });
  }

  /// Calls `pass(watch, batch)` for every watch with something to see in `changes`, which end with
  /// revision `current`.
  template <class Pass>
  void publish(std::span<const change> changes, revision current, Pass pass) {
    std::erase_if(watches_, [&](const std::weak_ptr<local_watch>& held) {
      auto watch = held.lock();
      if (!watch)
        return true;
      if (auto batch = watch->select(changes, current); !batch.changes.empty())
        pass(watch, std::move(batch));
      return false;
    });
  }

private:
  std::vector<std::weak_ptr<local_watch>> watches_;
};

} // namespace reprieve
