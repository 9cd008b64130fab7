#include "actors/durability/promised_writes.hpp"

#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace reprieve {

namespace {

/// The name that the write takes; nothing where it takes none.
const put* taken_name(const operation& write) {
  const auto* written = std::get_if<put>(&write);
  return written != nullptr && written->key.starts_with(keys::names) ? written : nullptr;
}

std::size_t size_of(const operation& write) {
  constexpr std::size_t tags_and_lengths = 16;
  const auto* written = std::get_if<put>(&write);
  return tags_and_lengths
         + (written == nullptr ? std::get<erase>(write).range.begin.size()
                               : written->key.size() + written->value.size());
}

/// How many writes a chunk has at most: they are made with the key's end, or promised with the key
/// and what is compared.
std::size_t most_writes(const batch_limits& limits) {
  constexpr std::size_t beside = 3;
  const auto most = std::min(limits.operations, store_limits::comparisons);
  return most > beside ? most - beside : 1;
}

transaction with_end_of(const promised_chunk& chunk, std::vector<operation> writes) {
  writes.emplace_back(erase{just(chunk.key)});
  return {{{chunk.key, compared::modified, chunk.written}}, std::move(writes)};
}

} // namespace

std::size_t most_bytes(const batch_limits& limits) {
  return limits.bytes / 4 * 3;
}

std::vector<promised_chunk> split_into_chunks(std::string_view shard, std::int64_t batch,
                                              std::vector<operation> writes,
                                              const batch_limits& limits) {
  std::vector<promised_chunk> chunks;
  std::size_t bytes = 0;
  for (auto& one : writes) {
    const auto more = size_of(one);
    if (chunks.empty() || chunks.back().writes.size() >= most_writes(limits)
        || bytes + more > most_bytes(limits)) {
      const auto number = static_cast<std::uint32_t>(chunks.size());
      chunks.push_back({keys::promise(shard, batch, number), {}, {}, 0});
      bytes = 0;
    }
    bytes += more;
    chunks.back().writes.push_back(std::move(one));
  }
  for (auto& one : chunks)
    one.bytes = encode(promised_writes{one.writes});
  return chunks;
}

absl::StatusOr<promised_chunk> read_chunk(const key_value& from) {
  auto read = decode<promised_writes>(from.value);
  if (!read.ok())
    return read.status();
  return promised_chunk{from.key, from.value, std::move(read->writes), from.modified};
}

transaction promise_of(const promised_chunk& chunk) {
  transaction made{{}, {put{chunk.key, chunk.bytes, 0}}};
  for (const auto& one : chunk.writes)
    if (const auto* name = taken_name(one)) {
      made.comparisons.push_back({name->key, compared::created, 0});
      made.operations.emplace_back(*name);
    }
  return made;
}

transaction make_good(const promised_chunk& chunk) {
  return with_end_of(chunk, chunk.writes);
}

transaction take_back(const promised_chunk& chunk) {
  std::vector<operation> names;
  for (const auto& one : chunk.writes)
    if (const auto* name = taken_name(one))
      names.emplace_back(erase{just(name->key)});
  return with_end_of(chunk, std::move(names));
}

} // namespace reprieve
