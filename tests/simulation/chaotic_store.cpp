#include "tests/simulation/chaotic_store.hpp"

#include <fmt/format.h>

#include <iterator>

namespace reprieve::simulation {

namespace {

std::string text_of(const transaction& writes) {
  std::string text = "write";
  for (const auto& one : writes.operations)
    if (const auto* written = std::get_if<put>(&one))
      text += " " + written->key;
    else
      text += " -" + std::get<erase>(one).range.begin;
  return text;
}

} // namespace

void chaotic_store::read(range_request request, store_callback<range_result> done) {
  auto what = fmt::format("read {}", request.range.begin);
  const auto refuse = [done](absl::Status why) { done(std::move(why)); };
  under_way_.push_back({event::type::request, what,
                        [this, what, request = std::move(request), done] {
                          behind().read(request, [&](absl::StatusOr<range_result> found) {
                            answer_later(what, [done, found = std::move(found)] { done(found); });
                          });
                        },
                        refuse, false});
}

void chaotic_store::commit(transaction writes, store_callback<transaction_result> done) {
  auto what = text_of(writes);
  const auto refuse = [done](absl::Status why) { done(std::move(why)); };
  under_way_.push_back({event::type::request, what,
                        [this, what, writes = std::move(writes), done] {
                          behind().commit(writes, [&](absl::StatusOr<transaction_result> result) {
                            compared_ = result.ok() && result->succeeded;
                            if (compared_)
                              carried_out_(writes, result->current);
                            answer_later(what,
                                         [done, result = std::move(result)] { done(result); });
                          });
                        },
                        refuse, true});
}

void chaotic_store::answer_later(std::string what, std::function<void()> answer) {
  if (!answer_lost_ && !cut_)
    under_way_.push_back({event::type::answer, std::move(what), std::move(answer), {}, false});
}

std::string chaotic_store::step(dice& luck, bool with_faults) {
  const auto chosen =
    std::next(under_way_.begin(), static_cast<std::ptrdiff_t>(luck.below(under_way_.size())));
  if (chosen->kind == event::type::request && with_faults && !cut_) {
    if (luck.one_in(40)) {
      auto refused = std::move(*chosen);
      under_way_.erase(chosen);
      refused.refuse(absl::UnavailableError("the store can't be reached"));
      return "refused: " + refused.what;
    }
    if (chosen->writes && luck.one_in(25)) {
      chosen->kind = event::type::late_request;
      chosen->refuse(absl::UnknownError("no answer from the store"));
      return "unknown: " + chosen->what;
    }
  }
  auto now = std::move(*chosen);
  under_way_.erase(chosen);
  if (now.kind == event::type::answer) {
    if (!cut_)
      now.happen();
    return "answered: " + now.what;
  }
  // A write of which nothing is known, or whose sender is dead, may never arrive.
  const bool forgotten = now.kind == event::type::late_request || cut_;
  if (forgotten && luck.one_in(3))
    return "never arrived: " + now.what;
  const bool lost = !forgotten && with_faults && luck.one_in(60);
  answer_lost_ = forgotten || lost;
  compared_ = true;
  now.happen();
  answer_lost_ = false;
  if (lost)
    answer_later(now.what + " (lost)", [refuse = std::move(now.refuse)] {
      refuse(absl::UnknownError("no answer from the store in time"));
    });
  return fmt::format("{}{}: {}", compared_ ? "carried out" : "out of place",
                     lost ? ", answer lost" : "", now.what);
}

} // namespace reprieve::simulation
