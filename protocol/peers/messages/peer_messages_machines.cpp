#include "protocol/messages/convert_node.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "protocol/peers/messages/peer_conversions.hpp"
#include "protocol/peers/messages/peer_messages.hpp"

#include <reprieve/v1/peer.pb.h>

// What those are told that run the pods, and tell.

namespace reprieve {

static v1::StartOrder to_proto(const start_order& from) {
  v1::StartOrder to;
  to.set_pod(bytes_of(*from.what));
  to.set_epoch(from.epoch);
  return to;
}

static absl::StatusOr<start_order> from_proto(const v1::StartOrder& from) {
  auto what = shared_pod_from(from.pod());
  if (!what.ok())
    return what.status();
  return start_order{*std::move(what), from.epoch(), {}};
}

static v1::PodQuestion to_proto(const pod_question& from) {
  v1::PodQuestion to;
  to.set_uid(from.uid);
  to.set_node(from.node);
  to.set_phase(to_proto(from.phase));
  to.set_epoch(from.epoch);
  return to;
}

static absl::StatusOr<pod_question> from_proto(const v1::PodQuestion& from) {
  pod_question to;
  field_reader read;
  to.uid = from.uid();
  to.node = from.node();
  read.one("phase", from.phase(), to.phase, from_proto);
  to.epoch = from.epoch();
  return read.result(std::move(to));
}

static v1::StopOrder to_proto(const stop_order& from) {
  v1::StopOrder to;
  to.set_uid(from.uid);
  to.set_node(from.node);
  to.set_decision(from.decision);
  to.set_checkpoint(from.checkpoint.count());
  to.set_grace(from.grace.count());
  to.set_force(from.force.count());
  to.set_epoch(from.epoch);
  return to;
}

static absl::StatusOr<stop_order> from_proto(const v1::StopOrder& from) {
  return stop_order{from.uid(),
                    from.node(),
                    from.decision(),
                    duration{from.checkpoint()},
                    duration{from.grace()},
                    duration{from.force()},
                    from.epoch(),
                    {}};
}

static v1::WatchNodes to_proto(const watch_nodes& from) {
  v1::WatchNodes to;
  to.set_shard(from.shard);
  write_all(from.nodes, *to.mutable_nodes());
  to.set_epoch(from.epoch);
  return to;
}

static absl::StatusOr<watch_nodes> from_proto(const v1::WatchNodes& from) {
  watch_nodes to;
  field_reader read;
  to.shard = from.shard();
  read.all("nodes", from.nodes(), to.nodes, from_proto);
  to.epoch = from.epoch();
  return read.result(std::move(to));
}

static v1::CountOrder to_proto(const count_order& from) {
  v1::CountOrder to;
  to.set_resource_group(from.resource_group);
  to.set_pod(bytes_of(*from.what));
  to.set_uid(from.uid);
  to.set_count(from.count);
  to.set_epoch(from.epoch);
  to.mutable_node_selector()->insert(from.node_selector.begin(), from.node_selector.end());
  write_all(from.tolerations, *to.mutable_tolerations());
  to.mutable_first_to_go()->Assign(from.first_to_go.begin(), from.first_to_go.end());
  return to;
}

static absl::StatusOr<count_order> from_proto(const v1::CountOrder& from) {
  auto what = shared_pod_from(from.pod());
  if (!what.ok())
    return what.status();
  count_order to;
  field_reader read;
  to.resource_group = from.resource_group();
  to.what = *std::move(what);
  to.uid = from.uid();
  to.count = from.count();
  to.epoch = from.epoch();
  to.node_selector.insert(from.node_selector().begin(), from.node_selector().end());
  read.all("tolerations", from.tolerations(), to.tolerations, from_proto);
  to.first_to_go.assign(from.first_to_go().begin(), from.first_to_go().end());
  return read.result(std::move(to));
}

static v1::CountOnly to_proto(const count_only& from) {
  v1::CountOnly to;
  to.set_resource_group(from.resource_group);
  to.mutable_deployments()->Assign(from.deployments.begin(), from.deployments.end());
  to.set_epoch(from.epoch);
  return to;
}

static absl::StatusOr<count_only> from_proto(const v1::CountOnly& from) {
  return count_only{
    from.resource_group(), {from.deployments().begin(), from.deployments().end()}, from.epoch()};
}

static v1::DeleteOrder to_proto(const delete_order& from) {
  v1::DeleteOrder to;
  to.set_uid(from.uid);
  to.set_node(from.node);
  to.set_decision(from.decision);
  to.set_epoch(from.epoch);
  return to;
}

static absl::StatusOr<delete_order> from_proto(const v1::DeleteOrder& from) {
  return delete_order{from.uid(), from.node(), from.decision(), from.epoch(), {}};
}

static v1::PodReports to_proto(const pod_reports& from) {
  v1::PodReports to;
  for (const auto& one : from) {
    auto& report = *to.add_reports();
    report.set_uid(one.uid);
    report.set_node(one.node);
    report.set_happened(static_cast<v1::PodReports::Report::What>(one.happened));
    report.set_at(one.at.time_since_epoch().count());
    if (one.placed)
      report.set_pod(bytes_of(*one.placed));
  }
  return to;
}

static absl::StatusOr<pod_reports> from_proto(const v1::PodReports& from) {
  pod_reports to;
  for (const auto& one : from.reports()) {
    if (!v1::PodReports::Report::What_IsValid(one.happened()))
      return absl::InvalidArgumentError("what happened to a pod is not known here");
    to.push_back({one.uid(), one.node(), static_cast<pod_report::what>(one.happened()),
                  time_point{duration{one.at()}}, nullptr});
    if (one.pod().empty())
      continue;
    auto placed = shared_pod_from(one.pod());
    if (!placed.ok())
      return placed.status();
    to.back().placed = *std::move(placed);
  }
  return to;
}

REPRIEVE_PEER_MESSAGE(start_order, v1::StartOrder)
REPRIEVE_PEER_MESSAGE(pod_question, v1::PodQuestion)
REPRIEVE_PEER_MESSAGE(stop_order, v1::StopOrder)
REPRIEVE_PEER_MESSAGE(watch_nodes, v1::WatchNodes)
REPRIEVE_PEER_MESSAGE(count_order, v1::CountOrder)
REPRIEVE_PEER_MESSAGE(count_only, v1::CountOnly)
REPRIEVE_PEER_MESSAGE(delete_order, v1::DeleteOrder)
REPRIEVE_PEER_MESSAGE(pod_reports, v1::PodReports)

} // namespace reprieve
