#include "observability/span_file.hpp"

#include "state/files/private_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cerrno>

namespace reprieve {

namespace {

using json = nlohmann::ordered_json;

json events_of(const finished_span& ended) {
  auto events = json::array();
  for (const auto& event : ended.events)
    events.push_back({{"name", event.name},
                      {"time_ns", event.at.time_since_epoch().count()},
                      {"attributes", event.attributes}});
  return events;
}

json links_of(const finished_span& ended) {
  auto links = json::array();
  for (const auto& link : ended.links)
    links.push_back({{"trace_id", link.trace_id}, {"span_id", link.span_id}});
  return links;
}

} // namespace

std::string to_json(const finished_span& ended) {
  const json line{{"trace_id", ended.trace_id},
                  {"span_id", ended.span_id},
                  {"parent_id", ended.parent_id},
                  {"name", ended.name},
                  {"start_ns", ended.start.time_since_epoch().count()},
                  {"end_ns", ended.end.time_since_epoch().count()},
                  {"status", ended.failed ? "error" : "ok"},
                  {"message", ended.message},
                  {"attributes", ended.attributes},
                  {"events", events_of(ended)},
                  {"links", links_of(ended)}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<std::unique_ptr<span_file>> span_file::open(const std::string& path) {
  const auto descriptor = open_to_append(path);
  if (!descriptor.ok())
    return absl::InvalidArgumentError(
      fmt::format("can't write traces to \"{}\": {}; give a file in a directory that exists and "
                  "may be written to",
                  path, std::string(descriptor.status().message())));
  return std::unique_ptr<span_file>(new span_file(*descriptor));
}

span_file::span_file(int descriptor) : descriptor_(descriptor) {}

span_file::~span_file() {
  ::close(descriptor_);
}

bool span_file::append(std::span<const finished_span> ended) {
  std::string lines;
  if (cut_off_)
    lines += '\n';
  for (const auto& one : ended) {
    lines += to_json(one);
    lines += '\n';
  }
  return write(lines);
}

bool span_file::write(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    const auto taken = static_cast<std::size_t>(written);
    cut_off_ = text[taken - 1] != '\n';
    text.remove_prefix(taken);
  }
  return true;
}

} // namespace reprieve
