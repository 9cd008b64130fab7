#include "state/model/object_size.hpp"

#include <string_view>

namespace reprieve {

namespace {

/// What stands around a text: its field, its length, and those of the entry that it is in.
constexpr std::size_t around = 16;
constexpr std::size_t number = 12;

std::size_t bytes_of(std::string_view text) {
  return text.size() + around;
}

} // namespace

std::size_t bytes_of(const string_map& texts) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : texts)
    bytes += bytes_of(std::string_view{key}) + bytes_of(std::string_view{value});
  return bytes;
}

std::size_t bytes_of(const resources& amounts) {
  std::size_t bytes = 0;
  for (const auto& [name, amount] : amounts)
    bytes += bytes_of(std::string_view{name}) + number;
  return bytes;
}

std::size_t bytes_of(const pod_template& pods) {
  auto bytes = bytes_of(pods.requests) + bytes_of(pods.labels) + bytes_of(pods.annotations)
               + bytes_of(pods.node_selector) + number;
  for (const auto& one : pods.tolerations)
    bytes +=
      bytes_of(std::string_view{one.key}) + bytes_of(std::string_view{one.value}) + 2 * number;
  return bytes;
}

std::size_t bytes_of(const pod_group& group) {
  constexpr std::size_t numbers = 8 * number;
  auto bytes = bytes_of(group.pods) + bytes_of(std::string_view{group.name})
               + bytes_of(std::string_view{group.required_node})
               + bytes_of(std::string_view{group.priority_class}) + numbers
               + group.protected_members.size() * number;
  for (const auto& key : group.topology_keys)
    bytes += bytes_of(std::string_view{key});
  return bytes;
}

std::size_t bytes_of(const workload& w) {
  constexpr std::size_t numbers = 16 * number;
  auto bytes = bytes_of(std::string_view{w.name}) + bytes_of(w.labels)
               + bytes_of(std::string_view{w.resource_group}) + bytes_of(std::string_view{w.queue})
               + bytes_of(std::string_view{w.priority_class})
               + bytes_of(std::string_view{w.preemption_priority_class}) + numbers;
  for (const auto& group : w.groups)
    bytes += bytes_of(group);
  return bytes;
}

} // namespace reprieve
