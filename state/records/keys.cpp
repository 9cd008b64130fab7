#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <charconv>
#include <initializer_list>

namespace reprieve {

namespace keys {

namespace {

std::string join(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const auto part : parts)
    size += part.size();
  std::string whole;
  whole.reserve(size);
  for (const auto part : parts)
    whole += part;
  return whole;
}

/// In keys seconds have as many digits, so that they sort as bytes.
constexpr std::int64_t last_second = 999'999'999'999;

std::int64_t seconds_of(time_point when) {
  return std::chrono::floor<std::chrono::seconds>(when).time_since_epoch().count();
}

std::int64_t number_in(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// The part before the last slash, behind the one before that.
std::string_view last_part_but_one(std::string_view key) {
  return last_part(key.substr(0, key.rfind('/')));
}

} // namespace

std::string owner(std::string_view replica) {
  return join({owners, replica});
}

std::string sequence(std::string_view shard) {
  return join({"seq/", shard});
}

std::string promise(std::string_view shard, std::int64_t batch, std::uint32_t chunk) {
  return fmt::format("f/{}/{:016x}/{:08x}", shard, batch, chunk);
}

std::string promises_of(std::string_view shard) {
  return join({"f/", shard, "/"});
}

std::pair<std::int64_t, std::uint32_t> promised_by(std::string_view promise_key) {
  const auto digits = last_part(promise_key);
  promise_key.remove_suffix(digits.size() + 1);
  const auto of_batch = last_part(promise_key);
  std::uint32_t chunk = 0;
  std::int64_t batch = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), chunk, 16);
  std::from_chars(of_batch.data(), of_batch.data() + of_batch.size(), batch, 16);
  return {batch, chunk};
}

std::string node(std::string_view shard, std::string_view name) {
  return join({"n/", shard, "/", name});
}

std::string left_behind(std::string_view shard, std::string_view node) {
  return join({"l/", shard, "/", node});
}

std::string workload(std::string_view shard, std::string_view name) {
  return join({"w/", shard, "/", name});
}

std::string budget(std::string_view shard, std::string_view name) {
  return join({"b/", shard, "/", name});
}

std::string placement(std::string_view shard, std::string_view name) {
  return join({"p/", shard, "/", name});
}

std::string slot_page(std::string_view shard, std::string_view workload, std::uint32_t number) {
  return fmt::format("{}{}/{}/{:08}", slot_pages, shard, workload, number);
}

std::pair<std::string_view, std::uint32_t> page_at(std::string_view key) {
  const auto digits = last_part(key);
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  key.remove_suffix(digits.size() + 1);
  return {last_part(key), number};
}

std::string name_of(std::string_view record_key) {
  return join({names, record_key.substr(0, record_key.find('/') + 1), last_part(record_key)});
}

std::string_view shard_of(std::string_view record_key) {
  record_key.remove_prefix(record_key.find('/') + 1);
  return record_key.substr(0, record_key.find('/'));
}

std::string queue(std::string_view tree, std::string_view name) {
  return join({"q/", tree, "/queue/", name});
}

std::string unfinished_group(std::string_view tree, std::string_view name) {
  return join({"q/", tree, "/new/", name});
}

std::string priority_class(std::string_view tree, std::string_view name) {
  return join({"q/", tree, "/class/", name});
}

std::string resource_group(std::string_view tree, std::string_view name) {
  return join({"q/", tree, "/group/", name});
}

std::string quota(std::string_view tree, std::string_view queue) {
  return join({"q/", tree, "/quota/", queue});
}

std::string barred_decision(std::string_view id) {
  return join({barred_decisions, id});
}

std::string open_decision(std::string_view id) {
  return join({open_decisions, id});
}

std::string decision_body(std::string_view id, std::uint32_t chunk) {
  return fmt::format("{}{}/{:08}", decision_bodies, id, chunk);
}

std::string bodies_of(std::string_view id) {
  return join({decision_bodies, id, "/"});
}

std::string_view decision_of_body(std::string_view key) {
  key.remove_prefix(decision_bodies.size());
  return key.substr(0, key.find('/'));
}

std::string done_decision(time_point ended, std::string_view id) {
  const auto hour = std::chrono::floor<std::chrono::hours>(ended).time_since_epoch().count();
  return fmt::format("{}{:010}/{}", done_decisions, hour, id);
}

std::string draft(std::string_view id) {
  return join({drafts, id});
}

std::string archive_hour(std::int64_t hour) {
  return fmt::format("{}{:010}", archive_hours, hour);
}

std::int64_t hour_of_archive(std::string_view hour_key) {
  return number_in(last_part(hour_key));
}

std::string ended_decision(time_point ended, std::string_view id) {
  return ended_since(ended).append(id);
}

std::string ended_since(time_point when) {
  return fmt::format("{}{:012}/", ended_decisions, seconds_of(when));
}

time_point end_of(std::string_view ended_key) {
  return time_point{std::chrono::seconds{number_in(last_part_but_one(ended_key))}};
}

std::string finished_head(std::string_view id) {
  return join({decision_bodies, id, "/finished"});
}

bool is_finished_head(std::string_view body_key) {
  return last_part(body_key) == "finished";
}

std::string decisions_of(std::string_view workload) {
  return join({"d/of/", workload, "/"});
}

std::string decision_of(std::string_view workload, time_point decided, std::string_view id) {
  return fmt::format("d/of/{}/{:012}/{}", workload, last_second - seconds_of(decided), id);
}

time_point decided_of(std::string_view index_key) {
  return time_point{std::chrono::seconds{last_second - number_in(last_part_but_one(index_key))}};
}

std::string_view last_part(std::string_view key) {
  return key.substr(key.rfind('/') + 1);
}

} // namespace keys

std::string shard_name(std::string_view group, std::uint32_t k) {
  return fmt::format("{}.{}", group, k);
}

std::string group_of_shard(std::string_view shard) {
  return std::string(shard.substr(0, shard.rfind('.')));
}

std::uint32_t shard_number(std::string_view name, std::uint32_t shards) {
  // FNV-1a: the same on every machine and in every version, as the key depends on it.
  std::uint64_t hash = 14695981039346656037U;
  for (const unsigned char byte : name)
    hash = (hash ^ byte) * 1099511628211U;
  return static_cast<std::uint32_t>(hash % shards);
}

} // namespace reprieve
