#pragma once

#include "state/store/forwarding_store.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace reprieve {

/// A store between a test and the real one that loses answers, refuses calls, or holds writes back
/// until the test lets them through.
class faulty_store final : public forwarding_store {
public:
  enum class fault {
    none,
    refused,          ///< not carried out, and says so
    answer_lost,      ///< carried out, answered with `kUnknown`
    carried_out_late, ///< answered with `kUnknown`, carried out by `let_late_writes_through`
    slow,             ///< carried out and answered by `let_late_writes_through`
    too_large         ///< not carried out, and never will be
  };

  using forwarding_store::forwarding_store;

  /// What happens to the n-th write from now on, 0 being the next.
  void fault_at(std::size_t n, fault f) {
    faults_.emplace_back(writes_ + n, f);
  }

  void let_late_writes_through() {
    for (auto& late : std::exchange(late_, {}))
      behind().commit(std::move(late.first), std::move(late.second));
  }

  /// From now on nobody gets an answer and nothing is carried out: its user is dead.
  void cut() {
    cut_ = true;
  }
  /// Likewise after so many writes.
  void cut_after(std::size_t writes) {
    last_ = writes_ + writes;
  }

  std::size_t writes() const {
    return writes_;
  }

  /// From now on `each` sees what is read.
  void watch_reads(std::function<void(const range_result&)> each) {
    seen_ = std::move(each);
  }

  void read(range_request request, store_callback<range_result> done) override {
    if (cut_)
      return;
    if (!seen_) {
      behind().read(std::move(request), std::move(done));
      return;
    }
    behind().read(std::move(request),
                  [seen = seen_, done = std::move(done)](absl::StatusOr<range_result> found) {
                    if (found.ok())
                      seen(*found);
                    done(std::move(found));
                  });
  }

  void commit(transaction writes, store_callback<transaction_result> done) override {
    cut_ = cut_ || (last_ && writes_ >= *last_);
    if (cut_)
      return;
    const auto now = writes_++;
    auto what = fault::none;
    for (const auto& [at, planned] : faults_)
      if (at == now)
        what = planned;
    switch (what) {
    case fault::none:
      behind().commit(std::move(writes), std::move(done));
      break;
    case fault::refused:
      done(absl::UnavailableError("refused for the test"));
      break;
    case fault::answer_lost:
      behind().commit(std::move(writes), [](auto) {});
      done(absl::UnknownError("lost for the test"));
      break;
    case fault::carried_out_late:
      late_.emplace_back(std::move(writes), [](auto) {});
      done(absl::UnknownError("late for the test"));
      break;
    case fault::slow:
      late_.emplace_back(std::move(writes), std::move(done));
      break;
    case fault::too_large:
      done(absl::InvalidArgumentError("too large for the test"));
      break;
    }
  }

private:
  std::size_t writes_ = 0;
  std::vector<std::pair<std::size_t, fault>> faults_;
  std::vector<std::pair<transaction, store_callback<transaction_result>>> late_;
  std::function<void(const range_result&)> seen_;
  bool cut_ = false;
  std::optional<std::size_t> last_;
};

} // namespace reprieve
