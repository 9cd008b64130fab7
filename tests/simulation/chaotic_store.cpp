#include "tests/simulation/chaotic_store.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// After it has gone, news that are under way reach nobody.
struct slow_watch final : watch_handle {
  ~slow_watch() override {
    *wanted = false;
  }

  std::shared_ptr<bool> wanted = std::make_shared<bool>(true);
  std::unique_ptr<watch_handle> behind;
};

} // namespace

// -- calls ----------------------------------------------------------------------------------------

void chaotic_store::ask(std::string what, bool writes, std::function<void()> happen,
                        std::function<void(absl::Status)> refuse) {
  under_way_.push_back(
    {event::type::request, std::move(what), std::move(happen), std::move(refuse), writes});
}

void chaotic_store::answer_later(std::string what, std::function<void()> answer) {
  if (!answer_lost_ && !cut_)
    under_way_.push_back({event::type::answer, std::move(what), std::move(answer), {}});
}

void chaotic_store::read(range_request request, store_callback<range_result> done) {
  auto what = fmt::format("read {}", request.range.begin);
  ask(
    what, false,
    [this, what, request = std::move(request), done] {
      behind().read(request, [&](absl::StatusOr<range_result> found) {
        answer_later(what, [done, found = std::move(found)] { done(found); });
      });
    },
    [done](absl::Status why) { done(std::move(why)); });
}

void chaotic_store::commit(transaction writes, store_callback<transaction_result> done) {
  auto what = text_of(writes);
  ask(
    what, true,
    [this, what, writes = std::move(writes), done] {
      behind().commit(writes, [&](absl::StatusOr<transaction_result> result) {
        compared_ = result.ok() && result->succeeded;
        if (compared_)
          carried_out_(writes, result->current);
        answer_later(what, [done, result = std::move(result)] { done(result); });
      });
    },
    [done](absl::Status why) { done(std::move(why)); });
}

std::unique_ptr<watch_handle> chaotic_store::watch(key_range range, revision from,
                                                   store_callback<watch_batch> each) {
  auto handle = std::make_unique<slow_watch>();
  const auto what = fmt::format("news of {}", range.begin);
  handle->behind = behind().watch(std::move(range), from,
                                  [this, what, each, number = ++last_watch_,
                                   wanted = handle->wanted](absl::StatusOr<watch_batch> batch) {
                                    if (!cut_)
                                      under_way_.push_back({event::type::answer,
                                                            what,
                                                            [wanted, each, batch] {
                                                              if (*wanted)
                                                                each(batch);
                                                            },
                                                            {},
                                                            false,
                                                            number});
                                  });
  return handle;
}

// -- leases ---------------------------------------------------------------------------------------

void chaotic_store::grant(duration time_to_live, store_callback<lease_id> done,
                          std::function<void()> lost) {
  ask(
    "grant", true,
    [this, time_to_live, done, lost = std::move(lost)] {
      behind().grant(time_to_live,
                     [&](absl::StatusOr<lease_id> lease) {
                       if (lease.ok())
                         leases_[*lease] = {time_to_live, clock_(), lost, !answer_lost_};
                       answer_later("grant", [done, lease] { done(lease); });
                     },
                     {});
    },
    [done](absl::Status why) { done(std::move(why)); });
}

void chaotic_store::revoke(lease_id lease, store_callback<revision> done) {
  if (const auto found = leases_.find(lease); found != leases_.end())
    found->second.kept = false;
  ask(
    "revoke", true,
    [this, lease, done] {
      behind().revoke(lease, [&](absl::StatusOr<revision> at) {
        answer_later("revoke", [done, at] { done(at); });
      });
      leases_.erase(lease);
    },
    [done](absl::Status why) { done(std::move(why)); });
}

duration chaotic_store::lasts_until(lease_id lease) const {
  // In virtual time; the answer is for who compares it with the time of this machine.
  const auto found = leases_.find(lease);
  const bool lasts =
    found != leases_.end() && clock_() < found->second.renewed + found->second.time_to_live;
  return lasts ? duration::max() : duration::min();
}

void chaotic_store::keep_leases() {
  const bool hears = !cut_ && !stalled_ && !blocked_;
  for (auto& [id, lease] : leases_) {
    if (hears && lease.kept && !lease.gone)
      lease.renewed = clock_();
    const bool over = clock_() >= lease.renewed + lease.time_to_live;
    if (over && !std::exchange(lease.gone, true))
      behind().revoke(id, [](const auto&) {});
    if ((over || (hears && lease.gone)) && lease.kept && !cut_ && !std::exchange(lease.told, true))
      under_way_.push_back({event::type::notice, "lease lost", lease.lost, {}});
  }
}

// -- what becomes of them -------------------------------------------------------------------------

bool chaotic_store::can_happen(const event& one) const {
  const bool takes_answers = !cut_ && !stalled_;
  switch (one.kind) {
  case event::type::notice:
    return takes_answers;
  case event::type::answer:
    return (takes_answers && !blocked_) || cut_;
  default:
    return !blocked_ && clock_() >= one.not_before;
  }
}

bool chaotic_store::busy() const {
  return std::ranges::any_of(under_way_, [&](const event& one) { return can_happen(one); });
}

chaotic_store::event_position chaotic_store::choose(dice& luck) {
  std::vector<event_position> possible;
  for (auto one = under_way_.begin(); one != under_way_.end(); ++one)
    if (can_happen(*one))
      possible.push_back(one);
  const auto chosen = possible[luck.below(possible.size())];
  if (chosen->watch == 0)
    return chosen;
  return std::ranges::find(under_way_, chosen->watch, &event::watch);
}

/// How long it takes to be written, whatever else goes on: what is granted to whom takes a while
/// now and then.
duration chaotic_store::slowness_of(const event& one, dice& luck) const {
  if (one.kind != event::type::request || !one.writes)
    return duration{0};
  if (!slowed_.empty() && one.what.find(slowed_) != std::string::npos)
    return slowed_by_;
  if (one.what.find("/quota/") != std::string::npos && luck.one_in(3))
    return std::chrono::milliseconds{luck.between(100, 4'000)};
  return duration{0};
}

void chaotic_store::hurry() {
  slowed_.clear();
  for (auto& one : under_way_)
    if (one.kind == event::type::request)
      one.not_before = std::min(one.not_before, clock_());
}

bool chaotic_store::is_slow_with(std::string_view part_of_key) const {
  return !cut_ && std::ranges::any_of(under_way_, [&](const event& one) {
    return one.kind == event::type::request && one.not_before > clock_()
           && one.what.find(part_of_key) != std::string::npos;
  });
}

std::string chaotic_store::step(dice& luck, bool with_faults) {
  const auto chosen = choose(luck);
  if (chosen->kind == event::type::request && chosen->writes && !hanging_.empty()
      && chosen->what.find(hanging_) != std::string::npos) {
    hanging_.clear();
    chosen->kind = event::type::late_request;
    chosen->not_before = clock_() + hangs_for_;
    chosen->refuse(absl::UnknownError("no answer from the store"));
    return "unknown: " + chosen->what;
  }
  if (chosen->not_before == duration{0})
    if (const auto slow = slowness_of(*chosen, luck); slow > duration{0}) {
      chosen->not_before = clock_() + slow;
      return "slow: " + chosen->what;
    }
  if (chosen->kind == event::type::request && with_faults && !cut_) {
    if (!stalled_ && luck.one_in(40)) {
      auto refused = std::move(*chosen);
      under_way_.erase(chosen);
      refused.refuse(absl::UnavailableError("the store can't be reached"));
      return "refused: " + refused.what;
    }
    // Of what becomes of decisions, less is known than of all the rest.
    const bool decides = chosen->what.find(" d/open/") != std::string::npos;
    if (!stalled_ && chosen->writes && luck.one_in(decides ? 5 : 25)) {
      chosen->kind = event::type::late_request;
      // Some hang for so long that whatever they were for has ended.
      if (luck.one_in(2))
        chosen->not_before =
          clock_() + std::chrono::milliseconds{luck.between(50, luck.one_in(2) ? 2'000 : 30'000)};
      chosen->refuse(absl::UnknownError("no answer from the store"));
      return "unknown: " + chosen->what;
    }
  }
  auto now = std::move(*chosen);
  under_way_.erase(chosen);
  if (now.kind == event::type::answer || now.kind == event::type::notice) {
    if (!cut_)
      now.happen();
    return "answered: " + now.what;
  }
  return carry_out(std::move(now), luck, with_faults);
}

std::string chaotic_store::carry_out(event now, dice& luck, bool with_faults) {
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
    answer_later(now.what + " (lost)", [refuse = std::move(now.refuse), writes = now.writes] {
      constexpr const char* why = "no answer from the store in time";
      refuse(writes ? absl::UnknownError(why) : absl::UnavailableError(why));
    });
  return fmt::format("{}{}: {}", compared_ ? "carried out" : "out of place",
                     lost ? ", answer lost" : "", now.what);
}

} // namespace reprieve::simulation
