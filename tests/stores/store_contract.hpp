#pragma once

#include "tests/stores/store_backend.hpp"
#include "tests/stores/waiting.hpp"

#include <gtest/gtest.h>

namespace reprieve {

/// Runs a test of the contract on every kind of store.
class store_contract : public testing::TestWithParam<backend_kind> {
protected:
  void SetUp() override {
    if (!GetParam().available())
      GTEST_SKIP() << "no " << GetParam().name << " on this machine";
    backend_ = GetParam().make();
  }

  store& subject() {
    return backend_->get();
  }

  store_backend& backend() {
    return *backend_;
  }

  /// Writes `operations` and answers with their revision, or -1.
  revision write(std::vector<operation> operations) {
    const auto written = commit(subject(), std::move(operations));
    EXPECT_TRUE(written.ok() && written->succeeded) << written.status();
    return written.ok() ? written->current : -1;
  }

  revision current() {
    const auto found = read(subject(), {.range = just("any")});
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? found->current : -1;
  }

  /// The keys that a read finds, separated by spaces, or the error.
  std::string keys(range_request request) {
    const auto found = read(subject(), std::move(request));
    if (!found.ok())
      return std::string(found.status().message());
    std::string text;
    for (const auto& one : found->values)
      text += (text.empty() ? "" : " ") + one.key;
    return text;
  }

private:
  std::unique_ptr<store_backend> backend_;
};

#define REPRIEVE_FOR_EVERY_STORE(suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(backend_kinds()),                            \
                           [](const auto& kind) { return kind.param.name; })

} // namespace reprieve
