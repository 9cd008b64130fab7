#pragma once

#include <memory>
#include <utility>

namespace reprieve {

/// A member that is empty in most of the many objects that have it, and takes the room of a pointer
/// there.
template <class T>
class rarely_set {
public:
  rarely_set() = default;
  rarely_set(T value) { // NOLINT: it stands for the value
    if (!value.empty())
      value_ = std::make_unique<T>(std::move(value));
  }
  rarely_set(const rarely_set& other)
      : value_(other.value_ ? std::make_unique<T>(*other) : nullptr) {}
  rarely_set(rarely_set&&) noexcept = default;
  rarely_set& operator=(const rarely_set& other) {
    return *this = rarely_set{other};
  }
  rarely_set& operator=(rarely_set&&) noexcept = default;
  ~rarely_set() = default;

  const T& operator*() const {
    return value_ ? *value_ : nothing();
  }
  const T* operator->() const {
    return &**this;
  }

  void clear() {
    value_.reset();
  }

  /// Has `change` change it.
  template <class F>
  void edit(F change) {
    if (!value_)
      value_ = std::make_unique<T>();
    change(*value_);
    if (value_->empty())
      clear();
  }

private:
  static const T& nothing() {
    static const T none{};
    return none;
  }

  std::unique_ptr<T> value_; ///< null while it is empty
};

} // namespace reprieve
