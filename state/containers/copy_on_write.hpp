#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace reprieve {

/// A value that copies share until one of them changes. As with any other value, one object belongs
/// to one thread at a time; its copies may belong to others.
template <class T>
class copy_on_write {
public:
  copy_on_write() = default;
  copy_on_write(const copy_on_write& other) : shared_(other.shared_) {
    if (shared_ != nullptr)
      shared_->users.fetch_add(1, std::memory_order_relaxed);
  }
  copy_on_write(copy_on_write&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  copy_on_write& operator=(copy_on_write other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~copy_on_write() {
    if (shared_ != nullptr && shared_->users.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete shared_;
  }

  const T& read() const {
    static const T none;
    return shared_ != nullptr ? shared_->value : none;
  }

  /// To be changed; nobody else sees it.
  T& write() {
    if (shared_ == nullptr)
      shared_ = new shared;
    // Whoever let go of it last has also read it last.
    else if (shared_->users.load(std::memory_order_acquire) != 1)
      *this = copy_on_write{shared_->value};
    return shared_->value;
  }

  /// Whether both are one value, unchanged since they were copies.
  bool is_same_as(const copy_on_write& other) const {
    return shared_ == other.shared_;
  }

private:
  struct shared {
    std::atomic<std::uint32_t> users{1};
    T value;
  };

  explicit copy_on_write(const T& value) : shared_(new shared{1, value}) {}

  shared* shared_ = nullptr; ///< null for an empty value
};

} // namespace reprieve
