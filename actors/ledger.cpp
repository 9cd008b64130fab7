#include "actors/ledger.hpp"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

namespace reprieve {

namespace {

const std::string& key_of(const operation& write) {
  if (const auto* written = std::get_if<put>(&write))
    return written->key;
  return std::get<erase>(write).range.begin;
}

std::size_t bytes_of(const operation& write) {
  const auto* written = std::get_if<put>(&write);
  return key_of(write).size() + (written != nullptr ? written->value.size() : 0);
}

/// A transaction that is being filled, with room left for the sequence key.
class batch {
public:
  explicit batch(transaction& filled) : filled_(filled) {
    filled_ = {};
    filled_.operations.reserve(store_limits::operations); // so that keys stay where they are
  }

  bool is_empty() const {
    return filled_.operations.empty();
  }

  /// Whether all of the request's writes have room, those of keys that are there already among
  /// them.
  bool takes(const ledger::request& all) const {
    auto bytes = bytes_;
    for (const auto& write : all.writes)
      bytes += bytes_of(write);
    return filled_.operations.size() + all.writes.size() < store_limits::operations
           && bytes <= store_limits::bytes;
  }

  /// False where there is no room.
  bool add(operation& write) {
    const auto bytes = bytes_of(write);
    if (!is_empty()
        && (filled_.operations.size() + 1 >= store_limits::operations
            || bytes_ + bytes > store_limits::bytes))
      return false;
    bytes_ += bytes;
    if (const auto earlier = positions_.find(key_of(write)); earlier != positions_.end()) {
      // Views of the key stay valid: the one that is assigned is the same text.
      const auto at = earlier->second;
      positions_.erase(earlier);
      filled_.operations[at] = std::move(write);
      positions_.emplace(key_of(filled_.operations[at]), at);
      return true;
    }
    filled_.operations.push_back(std::move(write));
    positions_.emplace(key_of(filled_.operations.back()), filled_.operations.size() - 1);
    return true;
  }

private:
  static constexpr std::size_t room_for_sequence = 1024;

  transaction& filled_;
  std::size_t bytes_ = room_for_sequence;
  std::unordered_map<std::string_view, std::size_t> positions_; ///< of keys
};

} // namespace

ledger::ledger(ledger_settings with)
    : settings(std::move(with)), writer(fmt::format("{}@{}", settings.owner_key, settings.epoch)) {}

void fill_batch(ledger& of) {
  batch filled{of.in_flight};
  while (!of.waiting.empty()) {
    auto& next = of.waiting.front();
    if (!filled.is_empty() && !filled.takes(next))
      break;
    while (next.written < next.writes.size() && filled.add(next.writes[next.written]))
      ++next.written;
    if (next.written < next.writes.size())
      break;
    of.in_flight_for.push_back(std::move(next.done));
    of.waiting.pop_front();
  }
  const auto& settings = of.settings;
  const auto key = keys::sequence(settings.shard);
  of.in_flight.operations.emplace_back(
    put{key, encode(sequence_record{settings.sequence + 1, of.writer}), 0});
  of.in_flight.comparisons = {{key, compared::modified, settings.sequence_revision}};
  if (planted != planted_bug::no_epoch)
    of.in_flight.comparisons.push_back({settings.owner_key, compared::modified, settings.epoch});
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
