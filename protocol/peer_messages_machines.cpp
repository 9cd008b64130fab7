#include "protocol/convert_pod.hpp"
#include "protocol/peer_form.hpp"
#include "protocol/peer_messages.hpp"

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

static v1::PodReports to_proto(const pod_reports& from) {
  v1::PodReports to;
  for (const auto& one : from) {
    auto& report = *to.add_reports();
    report.set_uid(one.uid);
    report.set_node(one.node);
    report.set_happened(static_cast<v1::PodReports::Report::What>(one.happened));
    report.set_at(one.at.time_since_epoch().count());
  }
  return to;
}

static absl::StatusOr<pod_reports> from_proto(const v1::PodReports& from) {
  pod_reports to;
  for (const auto& one : from.reports()) {
    if (!v1::PodReports::Report::What_IsValid(one.happened()))
      return absl::InvalidArgumentError("what happened to a pod is not known here");
    to.push_back({one.uid(), one.node(), static_cast<pod_report::what>(one.happened()),
                  time_point{duration{one.at()}}});
  }
  return to;
}

REPRIEVE_PEER_MESSAGE(start_order, v1::StartOrder)
REPRIEVE_PEER_MESSAGE(stop_order, v1::StopOrder)
REPRIEVE_PEER_MESSAGE(pod_reports, v1::PodReports)

} // namespace reprieve
