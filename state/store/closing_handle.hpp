#pragma once

#include "state/store/store.hpp"

#include <memory>
#include <utility>

namespace reprieve {

/// Closes the watch when it goes away.
template <class Watch>
class closing_handle final : public watch_handle {
public:
  explicit closing_handle(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) {}

  ~closing_handle() override {
    watch_->close();
  }

private:
  std::shared_ptr<Watch> watch_;
};

} // namespace reprieve
