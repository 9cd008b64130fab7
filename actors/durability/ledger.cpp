#include "actors/durability/ledger.hpp"

#include "state/containers/name_map.hpp"
#include "state/model/unchanged_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>

namespace reprieve {

namespace {

operation operation_of(std::string key, const std::function<std::string()>& value) {
  if (!value)
    return erase{just(std::move(key))};
  return put{std::move(key), value(), 0};
}

const std::string& key_of(const operation& write) {
  const auto* written = std::get_if<put>(&write);
  return written == nullptr ? std::get<erase>(write).range.begin : written->key;
}

std::size_t size_of(const operation& write) {
  const auto* written = std::get_if<put>(&write);
  return key_of(write).size() + (written == nullptr ? 0 : written->value.size());
}

/// What becomes of the name of the record at this key: the shard's, or nobody's.
operation name_written(std::string_view key, bool comes) {
  if (!comes)
    return erase{just(keys::name_of(key))};
  return put{keys::name_of(key), std::string(keys::shard_of(key)), 0};
}

constexpr std::size_t room_for_sequence = 1024;

/// A transaction that is being filled, with room left for the sequence key.
class batch {
public:
  explicit batch(const batch_limits& limits) : limits_(limits) {}

  bool is_empty() const {
    return operations_.empty();
  }

  /// Whether so many more keys have room.
  bool takes(std::size_t keys) const {
    return operations_.size() + keys < limits_.operations && bytes_ <= limits_.bytes / 2;
  }

  /// Makes what the entries write whose keys it does not have yet; nothing where there is no room
  /// for all of them. Names are few and short.
  std::optional<std::vector<operation>> make_all(std::span<const ledger_entry> entries) const {
    std::vector<operation> made;
    auto bytes = bytes_;
    for (const auto& one : entries)
      if (!positions_.contains(one.key))
        bytes += size_of(made.emplace_back(operation_of(one.key, one.value)));
    return bytes <= most_bytes(limits_) ? std::optional{std::move(made)} : std::nullopt;
  }

  /// Adds the entry, whose write may have been made already. False where there is no room, be it
  /// for the entry or for its name.
  bool add(const ledger_entry& entry, bool with_name, std::span<operation>& made) {
    const auto earlier = positions_.find(entry.key);
    const bool is_new = earlier == positions_.end();
    const bool has_new_name = with_name && (is_new || !names_.contains(earlier->second));
    const auto more = (is_new ? 1U : 0U) + (has_new_name ? 1U : 0U);
    if (operations_.size() + more >= limits_.operations)
      return false;
    const auto at = is_new ? operations_.size() : earlier->second;
    const bool comes = entry.value != nullptr;
    if (is_new) {
      auto write = made.empty() ? operation_of(entry.key, entry.value) : std::move(made.front());
      if (!made.empty())
        made = made.subspan(1);
      else if (!is_empty() && bytes_ + size_of(write) > most_bytes(limits_))
        return false;
      append(std::move(write));
      positions_.emplace(entry.key, at);
    } else {
      newer_[at] = entry.value;
    }
    if (has_new_name)
      add_name(at, comes);
    else if (with_name)
      operations_[names_[at]] = name_written(entry.key, comes);
    return true;
  }

  transaction finish() {
    for (const auto& [at, value] : newer_)
      operations_[at] = operation_of(key_of(operations_[at]), value);
    return {std::move(comparisons_), std::move(operations_)};
  }

private:
  void append(operation write) {
    bytes_ += size_of(write);
    operations_.push_back(std::move(write));
  }

  void add_name(std::size_t at, bool comes) {
    auto write = name_written(key_of(operations_[at]), comes);
    if (comes)
      comparisons_.push_back({key_of(write), compared::created, 0});
    names_.emplace(at, operations_.size());
    append(std::move(write));
  }

  batch_limits limits_;
  std::vector<comparison> comparisons_; ///< of names that are taken
  std::vector<operation> operations_;
  std::size_t bytes_ = room_for_sequence;
  name_map<std::size_t> positions_;                    ///< of records, by key
  std::unordered_map<std::size_t, std::size_t> names_; ///< of their names, by that
  /// What makes the last forms of those that were written again, which differ from the first by
  /// little: that is what part of the room is left for.
  std::unordered_map<std::size_t, std::function<std::string()>> newer_;
};

} // namespace

absl::Status came_in_between() {
  return mark_nothing_changed(absl::AbortedError(
    "another change came in between; nothing was changed by this one, try again"));
}

ledger::ledger(ledger_settings with)
    : settings(std::move(with)),
      writer(fmt::format("{}@{}", settings.owner->key(), settings.owner->epoch())),
      carried_out(settings.carried_out) {}

absl::Status confirm(const ledger& of) {
  if (of.settings.owner->is_sure())
    return absl::OkStatus();
  return absl::UnavailableError("shard " + of.settings.shard
                                + " may have another owner by now: the store does not answer");
}

bool is_given_away(const ledger& of) {
  const auto found = of.lendings.find(of.lent_for);
  return !of.lent_for.empty() && found != of.lendings.end() && found->second.is_given;
}

std::optional<absl::Status> fate_of_bundle(const ledger& of, const std::string& bundle) {
  const auto found = std::find_if(of.fates.rbegin(), of.fates.rend(),
                                  [&](const auto& one) { return one.first == bundle; });
  if (found == of.fates.rend())
    return std::nullopt;
  return found->second.ok() ? found->second : absl::CancelledError(found->second.message());
}

void remember_fate(ledger& of, const std::string& bundle, const absl::Status& how) {
  constexpr std::size_t most = 100;
  of.fates.emplace_back(bundle, how);
  if (of.fates.size() > most)
    of.fates.pop_front();
}

bool fits_one_batch(const ledger& of, const std::vector<ledger_entry>& writes) {
  const auto& limits = of.settings.limits;
  if (writes.size() < 2)
    return true;
  if (writes.size() >= limits.operations)
    return false;
  auto bytes = room_for_sequence;
  for (const auto& one : writes)
    bytes += size_of(operation_of(one.key, one.value));
  return bytes <= most_bytes(limits);
}

void fill_batch(ledger& of) {
  batch filled{of.settings.limits};
  const bool alone = of.one_by_one > 0;
  of.one_by_one -= alone ? 1 : 0;
  of.lent_for = of.waiting.empty() ? std::string{} : of.waiting.front().lent_for;
  const bool with_names = of.settings.owner->schema() >= schema_with_names;
  const auto has_name = [&](const ledger_entry& one) { return with_names && one.changes_name; };
  while (!of.waiting.empty()) {
    auto& next = of.waiting.front();
    if (!of.in_flight_for.empty() && !next.lent_for.empty())
      break;
    const auto names = static_cast<std::size_t>(std::ranges::count_if(next.writes, has_name));
    if (!filled.is_empty() && (alone || !filled.takes(next.writes.size() + names)))
      break;
    // What fits one transaction goes with one.
    std::optional<std::vector<operation>> made;
    if (!filled.is_empty() && next.writes.size() > 1
        && !(made = filled.make_all(std::span{next.writes}.subspan(next.written))))
      break;
    auto ready = made ? std::span{*made} : std::span<operation>{};
    while (next.written < next.writes.size()
           && filled.add(next.writes[next.written], has_name(next.writes[next.written]), ready))
      ++next.written;
    if (next.written < next.writes.size())
      break;
    if (!next.carries_out.empty())
      of.carried_out.insert(next.carries_out);
    of.in_flight_for.push_back(std::move(next));
    of.waiting.pop_front();
    if (alone || !of.lent_for.empty())
      break;
  }
  const auto& settings = of.settings;
  const auto key = keys::sequence(settings.shard);
  of.in_flight = filled.finish();
  of.in_flight.operations.emplace_back(
    put{key, encode(sequence_record{settings.sequence + 1, of.writer, of.carried_out}), 0});
  of.in_flight.comparisons.push_back({key, compared::modified, settings.sequence_revision});
  if (!is_planted(planted_bug::no_epoch))
    of.in_flight.comparisons.push_back(settings.owner->held());
}

/// What the entries write, each key once and in its last form, and what becomes of their names.
static std::vector<operation> writes_of(const std::vector<ledger_entry>& entries, bool with_names) {
  struct last_form {
    const ledger_entry* entry;
    bool changes_name;
  };
  std::vector<last_form> last;
  name_map<std::size_t> positions;
  for (const auto& one : entries) {
    const auto [at, fresh] = positions.emplace(one.key, last.size());
    if (fresh)
      last.push_back({&one, one.changes_name});
    else
      last[at->second] = {&one, last[at->second].changes_name || one.changes_name};
  }
  std::vector<operation> writes;
  for (const auto& [entry, changes_name] : last) {
    writes.push_back(operation_of(entry->key, entry->value));
    if (with_names && changes_name)
      writes.push_back(name_written(entry->key, entry->value != nullptr));
  }
  return writes;
}

void make_promise(ledger& of) {
  const auto& settings = of.settings;
  if (of.in_flight_for.empty()) { // it was too large to be put into a batch
    of.in_flight_for.push_back(std::move(of.waiting.front()));
    of.waiting.pop_front();
  }
  of.promised = split_into_chunks(
    settings.shard, settings.sequence + 1,
    writes_of(of.in_flight_for.front().writes, settings.owner->schema() >= schema_with_names),
    settings.limits);
  const auto key = keys::sequence(settings.shard);
  of.in_flight = {{{key, compared::modified, settings.sequence_revision}, settings.owner->held()},
                  {put{key,
                       encode(sequence_record{settings.sequence + 1, of.writer, of.carried_out,
                                              static_cast<std::uint32_t>(of.promised.size())}),
                       0}}};
}

bool take_new_epoch(ledger& of) {
  if (is_planted(planted_bug::no_epoch))
    return false;
  auto& compared = of.in_flight.comparisons.back().to;
  const auto before = std::exchange(compared, of.settings.owner->epoch());
  return before != compared;
}

bool is_written_by(const ledger& of, const range_result& found) {
  if (found.values.empty())
    return false;
  const auto record = decode<sequence_record>(found.values.front().value);
  return record.ok() && record->writer == of.writer && record->number == of.settings.sequence + 1;
}

void answer_written(ledger& of) {
  if (!of.waiting.empty())
    of.waiting.front().durable = of.waiting.front().written;
  for (const auto& one : std::exchange(of.in_flight_for, {}))
    one.done(absl::OkStatus());
}

bool drop_lent(ledger& of, const absl::Status& why) {
  of.lent_for.clear();
  auto dropped = std::exchange(of.in_flight_for, {});
  if (dropped.empty()) { // it was too large to be put into a batch
    dropped.push_back(std::move(of.waiting.front()));
    of.waiting.pop_front();
  }
  std::set<std::string_view> keys;
  for (const auto& entry : dropped.front().writes)
    keys.insert(entry.key);
  const bool others_go_on = std::ranges::any_of(of.waiting, [&](const ledger::request& one) {
    return std::ranges::any_of(one.writes,
                               [&](const ledger_entry& entry) { return keys.contains(entry.key); });
  });
  dropped.front().done(why);
  return !others_go_on;
}

void fence_lent(ledger& of) {
  const auto& settings = of.settings;
  const auto key = keys::sequence(settings.shard);
  of.in_flight = {
    {{key, compared::modified, settings.sequence_revision}},
    {put{key, encode(sequence_record{settings.sequence + 2, of.writer, of.carried_out}), 0}}};
  if (!is_planted(planted_bug::no_epoch))
    of.in_flight.comparisons.push_back(settings.owner->held());
}

lent_fate fate_of_lent(const ledger& of, const range_result& found) {
  if (found.values.empty())
    return lent_fate::open;
  const auto record = decode<sequence_record>(found.values.front().value);
  if (!record.ok() || record->writer != of.writer || record->number <= of.settings.sequence)
    return lent_fate::open;
  return record->number == of.settings.sequence + 1 ? lent_fate::written : lent_fate::kept_out;
}

bool refuse_batch(ledger& of, const absl::Status& why) {
  // The first of those that wait may have been in it with a part.
  auto sent = std::exchange(of.in_flight_for, {});
  auto count = sent.size();
  if (!of.waiting.empty() && of.waiting.front().written > of.waiting.front().durable)
    ++count;
  for (auto one = sent.rbegin(); one != sent.rend(); ++one) {
    of.carried_out.erase(one->carries_out);
    of.waiting.push_front(std::move(*one));
  }
  for (std::size_t i = 0; i < count; ++i)
    of.waiting[i].written = of.waiting[i].durable;
  if (count != 1) {
    of.one_by_one = count;
    return true;
  }
  if (of.waiting.front().durable > 0)
    return false;
  // What was asked for later begins with what this would have written.
  std::set<std::string, std::less<>> unwritten;
  std::vector<ledger::request> refused;
  std::deque<ledger::request> others;
  for (auto& one : std::exchange(of.waiting, {})) {
    const bool goes_on_from_it =
      refused.empty() || std::ranges::any_of(one.writes, [&](const ledger_entry& entry) {
        return unwritten.contains(entry.key);
      });
    if (!goes_on_from_it) {
      others.push_back(std::move(one));
      continue;
    }
    for (const auto& entry : one.writes)
      unwritten.insert(entry.key);
    refused.push_back(std::move(one));
  }
  of.waiting = std::move(others);
  for (const auto& one : refused)
    one.done(why);
  return true;
}

void answer_all(ledger& of, const absl::Status& why) {
  for (const auto& one : std::exchange(of.in_flight_for, {}))
    one.done(why);
  for (const auto& one : std::exchange(of.waiting, {}))
    one.done(why);
  for (const auto& done : std::exchange(of.unconfirmed, {}))
    done(why);
}

} // namespace reprieve
