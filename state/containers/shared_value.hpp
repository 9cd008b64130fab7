#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace reprieve {

/// A part of records, never changed in place, so that records, messages and threads can share it.
/// Remembers its bytes in the store, which are the dearest to make of it.
template <class T>
class with_bytes {
public:
  explicit with_bytes(T what) : what_(std::move(what)) {}
  /// Of one whose bytes are known, since it was read from them.
  with_bytes(T what, std::string bytes)
      : what_(std::move(what)), has_bytes_(true), bytes_(std::move(bytes)) {}

  const T& what() const {
    return what_;
  }

  /// What `encode` makes of it; made once.
  template <class Encode>
  const std::string& bytes(Encode encode) const {
    if (!has_bytes_.load(std::memory_order_acquire))
      std::call_once(encoded_, [&] {
        bytes_ = encode(what_);
        has_bytes_.store(true, std::memory_order_release);
      });
    return bytes_;
  }

private:
  template <class>
  friend class shared_value;

  T what_;
  mutable std::atomic<bool> has_bytes_ = false; ///< cheaper to look at than the flag
  mutable std::once_flag encoded_;
  mutable std::string bytes_;
};

/// A member of a record that stays the same in most of its forms: copies share it, and a new value
/// takes the place of the old one as a whole.
template <class T>
class shared_value {
public:
  shared_value() : shared_(nothing()) {}
  shared_value(T value) : shared_(std::make_shared<const with_bytes<T>>(std::move(value))) {}

  const T& operator*() const {
    return shared_->what();
  }
  const T* operator->() const {
    return &shared_->what();
  }
  operator const T&() const {
    return shared_->what();
  }

  /// As it is shared: the same object is the same value.
  const with_bytes<T>& shared() const {
    return *shared_;
  }

  /// A copy that takes its place, to be changed before it is shared.
  T& edit() {
    auto own = std::make_shared<with_bytes<T>>(**this);
    shared_ = own;
    return own->what_;
  }

  friend bool operator==(const shared_value& a, const shared_value& b) {
    return a.shared_ == b.shared_ || *a == *b;
  }

private:
  static const std::shared_ptr<const with_bytes<T>>& nothing() {
    static const auto empty = std::make_shared<const with_bytes<T>>(T{});
    return empty;
  }

  std::shared_ptr<const with_bytes<T>> shared_;
};

} // namespace reprieve
