#include "protocol/manifest/snapshot_manifests.hpp"

#include "protocol/manifest/manifest_writer.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <set>
#include <string_view>

namespace reprieve {

namespace {

template <class... Status>
std::string document(const object& o, const Status&... status) {
  return "---\n" + write_yaml(o, status...);
}

/// What is of another moment than the first group is told as such.
std::string about(const cluster_snapshot& of) {
  std::string text = fmt::format("# The live state of cluster {}.\n", of.cluster);
  for (const auto& group : of.groups)
    text += fmt::format("# Resource group {} is as it was at {}.\n", group.name,
                        format_time(group.taken));
  return text + "# Give that time to `reprieve decide` with --now to decide as the server did.\n";
}

/// A node and its pods.
std::string documents(const node_record& record) {
  auto text = document(*record.spec, record.status);
  for (const auto& p : record.pods)
    text += document(p);
  return text;
}

std::string document(const workload_record& record) {
  return document(*record.spec, course_of(record));
}

} // namespace

snapshot_manifests::snapshot_manifests(std::shared_ptr<const cluster_snapshot> of) {
  const auto add = [&](auto make) { parts_.push_back([of, make] { return make(*of); }); };
  add(about);
  for (const auto& [name, one] : of->known->classes)
    add([&one = one](const auto&) { return document(one); });
  for (const auto& [name, one] : of->known->queues)
    add([&one = one](const cluster_snapshot& whole) {
      const auto* status = find(whole.queues, one.name);
      return status == nullptr ? document(one) : document(one, *status);
    });
  for (const auto& [name, one] : of->known->groups)
    add([&one = one](const cluster_snapshot& whole) {
      for (const auto& group : whole.groups)
        if (group.name == one.name)
          return document(one, group.status);
      return document(one);
    });
  for (const auto& group : of->groups) {
    for (const auto& one : group.budgets)
      add([&one](const auto&) { return document(one); });
    for (const auto& one : group.workloads)
      add([&one](const auto&) { return document(*one); });
    for (const auto& one : group.nodes)
      add([&one](const auto&) { return documents(*one); });
  }
  // Placements go with their deployments, some a moment later.
  std::set<std::string_view> deployments;
  for (const auto& group : of->groups)
    for (const auto& one : group.workloads)
      deployments.insert(one->spec->name);
  for (const auto& one : of->placements)
    if (deployments.contains(one.deployment))
      add([&one](const auto&) { return document(one); });
}

std::string snapshot_manifests::next(std::size_t bytes) {
  std::string text;
  for (; given_ < parts_.size() && text.size() < bytes; ++given_)
    text += parts_[given_]();
  return text;
}

} // namespace reprieve
