#pragma once

#include "state/model/requests.hpp"

#include <string>
#include <vector>

namespace reprieve {

/// The objects of one kind as a table; workloads count their pods in `pods`.
std::string object_table(object_kind kind, const std::vector<shown_object>& objects,
                         const std::vector<shown_object>& pods);

/// `cpu 8, gpu 4, memory 64Gi`, or `-` where there is nothing.
std::string amounts_text(const resources& amounts);

/// One word for a phase, as manifests spell it.
std::string_view to_string(pod_phase phase);
std::string_view to_string(decision_phase phase);

} // namespace reprieve
