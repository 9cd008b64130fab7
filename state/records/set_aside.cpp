#include "state/records/set_aside.hpp"

#include "state/text/printable.hpp"

#include <fmt/format.h>

#include <utility>

namespace reprieve {

namespace {

/// What becomes of the object where it is removed by force.
std::string_view after_force(const set_aside& what) {
  switch (what.kind) {
  case object_kind::node:
    return "gives its pods up for lost and takes it away, after which it may be applied again";
  case object_kind::workload:
    return "stops its pods and takes it away, after which it may be applied again";
  case object_kind::queue:
    return "gives it the settings of a new queue, which then may be applied or deleted";
  case object_kind::resource_group:
    return "takes its settings away; apply it again, as its nodes and workloads wait for that";
  default:
    return "takes it away, after which it may be applied again";
  }
}

} // namespace

objects_aside::objects_aside(std::vector<set_aside> all) {
  for (auto& one : all) {
    auto key = std::pair(one.kind, one.name);
    all_.insert_or_assign(std::move(key), std::move(one));
  }
}

const set_aside* objects_aside::find(object_kind kind, std::string_view name) const {
  if (all_.empty())
    return nullptr;
  const auto found = all_.find(std::pair(kind, std::string(name)));
  return found == all_.end() ? nullptr : &found->second;
}

void objects_aside::remove(object_kind kind, std::string_view name) {
  if (!all_.empty())
    all_.erase(std::pair(kind, std::string(name)));
}

std::vector<set_aside> objects_aside::all() const {
  std::vector<set_aside> found;
  for (const auto& [name, one] : all_)
    found.push_back(one);
  return found;
}

queue queue_of_no_settings(std::string name) {
  queue made;
  made.name = std::move(name);
  return made;
}

std::string describe(const set_aside& what) {
  // Names in a damaged record may be anything.
  constexpr std::size_t most = 4096;
  const auto text = fmt::format(
    "{0} {1} can't be read and is left out, all else goes on: the record at {2}: {3}. The record "
    "stays as it is. `reprieve delete {0} {1} --force` {4}; or restore a backup",
    to_string(what.kind), what.name, what.key, what.why, after_force(what));
  return printable(text, most);
}

absl::Status cannot_be_read(const set_aside& what) {
  return absl::DataLossError(describe(what));
}

absl::Status cannot_be_made(const set_aside& what) {
  return absl::FailedPreconditionError("the name is taken: " + describe(what));
}

absl::Status cannot_be_above(const set_aside& what) {
  return absl::FailedPreconditionError("no queue can be put below it: " + describe(what));
}

} // namespace reprieve
