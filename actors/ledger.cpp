#include "actors/ledger.hpp"

#include "state/text_map.hpp"

#include <fmt/format.h>

#include <unordered_map>

namespace reprieve {

namespace {

operation operation_of(std::string key, const std::function<std::string()>& value) {
  if (!value)
    return erase{just(std::move(key))};
  return put{std::move(key), value(), 0};
}

std::size_t value_size(const operation& write) {
  const auto* written = std::get_if<put>(&write);
  return written == nullptr ? 0 : written->value.size();
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

  /// False where there is no room.
  bool add(ledger_entry& entry) {
    if (const auto earlier = positions_.find(entry.key); earlier != positions_.end()) {
      newer_[earlier->second] = std::move(entry.value);
      return true;
    }
    if (operations_.size() + 1 >= store_limits::operations)
      return false;
    auto write = operation_of(entry.key, entry.value);
    const auto bytes = entry.key.size() + value_size(write);
    if (!is_empty() && bytes_ + bytes > store_limits::bytes * 3 / 4)
      return false;
    bytes_ += bytes;
    positions_.emplace(std::move(entry.key), operations_.size());
    operations_.push_back(std::move(write));
    return true;
  }

  std::vector<operation> finish() {
    for (const auto& [key, at] : positions_)
      if (const auto newer = newer_.find(at); newer != newer_.end())
        operations_[at] = operation_of(key, newer->second);
    return std::move(operations_);
  }

private:
  static constexpr std::size_t room_for_sequence = 1024;

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
  while (!of.waiting.empty()) {
    auto& next = of.waiting.front();
    if (!filled.is_empty() && !filled.takes(next.writes.size()))
      break;
    while (next.written < next.writes.size() && filled.add(next.writes[next.written]))
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
  of.in_flight.operations = filled.finish();
  of.in_flight.operations.emplace_back(
    put{key, encode(sequence_record{settings.sequence + 1, of.writer, of.carried_out}), 0});
  of.in_flight.comparisons = {{key, compared::modified, settings.sequence_revision}};
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
