#include "actors/ledger.hpp"

#include "state/text_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace reprieve {

namespace {

operation operation_of(std::string key, const std::function<std::string()>& value) {
  if (!value)
    return erase{just(std::move(key))};
  return put{std::move(key), value(), 0};
}

/// A transaction that is being filled, with room left for the sequence key.
class batch {
public:
  bool is_empty() const {
    return operations_.empty();
  }

  /// Whether so many more keys have room.
  bool takes(std::size_t keys) const {
    return operations_.size() + keys < store_limits::operations
           && bytes_ <= store_limits::bytes / 2;
  }

  /// False where there is no room, be it for the entry or for its name.
  bool add(ledger_entry& entry, bool with_name) {
    auto name = with_name ? keys::name_of(entry.key) : std::string{};
    const bool is_new = !positions_.contains(entry.key);
    const bool has_new_name = with_name && !positions_.contains(name);
    const auto more = (is_new ? 1U : 0U) + (has_new_name ? 1U : 0U);
    if (operations_.size() + more >= store_limits::operations)
      return false;
    const auto name_value = value_of_name(entry);
    if (is_new) {
      auto write = operation_of(entry.key, entry.value);
      if (!is_empty() && bytes_ + size_of(entry.key, write) > store_limits::bytes * 3 / 4)
        return false;
      append(std::move(entry.key), std::move(write));
    } else {
      newer_[positions_.find(entry.key)->second] = std::move(entry.value);
    }
    if (has_new_name) {
      if (name_value)
        comparisons_.push_back({name, compared::created, 0});
      auto write = operation_of(name, name_value);
      append(std::move(name), std::move(write));
    } else if (with_name) {
      newer_[positions_.find(name)->second] = name_value;
    }
    return true;
  }

  transaction finish() {
    for (const auto& [key, at] : positions_)
      if (const auto newer = newer_.find(at); newer != newer_.end())
        operations_[at] = operation_of(key, newer->second);
    return {std::move(comparisons_), std::move(operations_)};
  }

private:
  static constexpr std::size_t room_for_sequence = 1024;

  /// The shard that has it; nothing where the entry's name goes.
  static std::function<std::string()> value_of_name(const ledger_entry& entry) {
    if (!entry.value)
      return {};
    return [shard = std::string(keys::shard_of(entry.key))] { return shard; };
  }

  static std::size_t size_of(const std::string& key, const operation& write) {
    const auto* written = std::get_if<put>(&write);
    return key.size() + (written == nullptr ? 0 : written->value.size());
  }

  void append(std::string key, operation write) {
    bytes_ += size_of(key, write);
    positions_.emplace(std::move(key), operations_.size());
    operations_.push_back(std::move(write));
  }

  std::vector<comparison> comparisons_; ///< of names that are taken
  std::vector<operation> operations_;
  std::size_t bytes_ = room_for_sequence;
  text_map<std::size_t> positions_; ///< of keys
  /// What makes the last forms of those that were written again, which differ from the first by
  /// little: that is what part of the room is left for.
  std::unordered_map<std::size_t, std::function<std::string()>> newer_;
};

} // namespace

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

void fill_batch(ledger& of) {
  batch filled;
  const bool with_names = of.settings.owner->schema() >= schema_with_names;
  const auto has_name = [&](const ledger_entry& one) { return with_names && one.changes_name; };
  while (!of.waiting.empty()) {
    auto& next = of.waiting.front();
    const auto names = static_cast<std::size_t>(std::ranges::count_if(next.writes, has_name));
    if (!filled.is_empty() && !filled.takes(next.writes.size() + names))
      break;
    while (next.written < next.writes.size()
           && filled.add(next.writes[next.written], has_name(next.writes[next.written])))
      ++next.written;
    if (next.written < next.writes.size())
      break;
    of.in_flight_for.push_back(std::move(next.done));
    if (!next.carries_out.empty())
      of.carried_out.insert(std::move(next.carries_out));
    of.waiting.pop_front();
  }
  const auto& settings = of.settings;
  const auto key = keys::sequence(settings.shard);
  of.in_flight = filled.finish();
  of.in_flight.operations.emplace_back(
    put{key, encode(sequence_record{settings.sequence + 1, of.writer, of.carried_out}), 0});
  of.in_flight.comparisons.push_back({key, compared::modified, settings.sequence_revision});
  if (planted != planted_bug::no_epoch)
    of.in_flight.comparisons.push_back(settings.owner->held());
}

bool take_new_epoch(ledger& of) {
  if (planted == planted_bug::no_epoch)
    return false;
  auto& compared = of.in_flight.comparisons.back().to;
  return std::exchange(compared, of.settings.owner->epoch()) != compared;
}

bool is_written_by(const ledger& of, const range_result& found) {
  if (found.values.empty())
    return false;
  const auto record = decode<sequence_record>(found.values.front().value);
  return record.ok() && record->writer == of.writer && record->number == of.settings.sequence + 1;
}

void answer_written(ledger& of) {
  for (const auto& done : std::exchange(of.in_flight_for, {}))
    done(absl::OkStatus());
}

void answer_all(ledger& of, const absl::Status& why) {
  for (const auto& done : std::exchange(of.in_flight_for, {}))
    done(why);
  for (const auto& one : std::exchange(of.waiting, {}))
    one.done(why);
  for (const auto& done : std::exchange(of.unconfirmed, {}))
    done(why);
}

} // namespace reprieve
