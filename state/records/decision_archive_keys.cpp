#include "state/records/decision_archive_keys.hpp"

#include "state/records/keys.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace reprieve {

std::int64_t bytes_in_archive(const archive_entry& entry, std::uint32_t chunks,
                              std::int64_t content) {
  const auto size = [](const std::string& text) { return std::ssize(text); };
  auto bytes = content + chunks * size(keys::decision_body(entry.id, 0))
               + size(keys::finished_head(entry.id))
               + size(keys::ended_decision(entry.ended, entry.id));
  for (const auto& workload : entry.what.workloads)
    bytes += size(workload) + size(keys::decision_of(workload, entry.what.decided, entry.id));
  return bytes;
}

std::vector<operation> index_writes(const archive_entry& entry) {
  std::vector<operation> writes;
  for (const auto& workload : entry.what.workloads)
    writes.emplace_back(put{keys::decision_of(workload, entry.what.decided, entry.id), {}, 0});
  return writes;
}

// -- counting -------------------------------------------------------------------------------------

std::int64_t hour_of(time_point when) {
  return std::chrono::floor<std::chrono::hours>(when).time_since_epoch().count();
}

time_point start_of_hour(std::int64_t hour) {
  return time_point{std::chrono::hours{hour}};
}

void archive_totals::add(std::int64_t hour, const archive_total& more) {
  auto& total = hours_[hour];
  total.count += more.count;
  total.bytes += more.bytes;
}

void archive_totals::take(std::int64_t hour, const archive_total& less) {
  const auto found = hours_.find(hour);
  if (found == hours_.end())
    return;
  auto& total = found->second;
  total.count = std::max<std::int64_t>(0, total.count - less.count);
  total.bytes = std::max<std::int64_t>(0, total.bytes - less.bytes);
}

void archive_totals::forget(std::int64_t hour) {
  hours_.erase(hour);
}

archive_total archive_totals::of(std::int64_t hour) const {
  const auto found = hours_.find(hour);
  return found == hours_.end() ? archive_total{} : found->second;
}

std::optional<std::int64_t> archive_totals::oldest() const {
  if (hours_.empty())
    return std::nullopt;
  return hours_.begin()->first;
}

std::int64_t archive_totals::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [hour, total] : hours_)
    bytes += total.bytes;
  return bytes;
}

// -- letting go -----------------------------------------------------------------------------------

bool is_too_much(const archive_totals& held, const archive_limits& limits, time_point now) {
  const auto oldest = held.oldest();
  return oldest && (start_of_hour(*oldest) < now - limits.age || held.bytes() > limits.bytes);
}

std::vector<letting_go> what_to_let_go(std::span<const archive_entry> oldest, std::int64_t held,
                                       const archive_limits& limits, time_point now) {
  constexpr auto most = store_limits::operations - operations_beside;
  std::vector<letting_go> writes(1);
  const auto erased = [&](key_range range) {
    if (writes.back().erased.size() == most)
      writes.emplace_back();
    writes.back().erased.emplace_back(erase{std::move(range)});
  };
  for (const auto& one : oldest) {
    const bool too_old = one.ended < now - limits.age;
    if (!too_old && held <= limits.bytes)
      break;
    for (const auto& workload : one.what.workloads)
      erased(just(keys::decision_of(workload, one.what.decided, one.id)));
    // These two go together, so that what is left of a decision is found again.
    if (writes.back().erased.size() + 2 > most)
      writes.emplace_back();
    erased(with_prefix(keys::bodies_of(one.id)));
    erased(just(keys::ended_decision(one.ended, one.id)));
    auto& last = writes.back();
    ++last.gone.count;
    last.gone.bytes += one.what.bytes;
    last.until = one.ended;
    last.made_room = !too_old;
    held -= one.what.bytes;
  }
  if (writes.back().erased.empty())
    writes.pop_back();
  return writes;
}

} // namespace reprieve
