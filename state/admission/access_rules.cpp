#include "state/admission/access_rules.hpp"

#include "state/text/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace reprieve {

namespace {

constexpr std::array<std::pair<caller_role, std::string_view>, 5> role_names{{
  {caller_role::none, "none"},
  {caller_role::viewer, "viewer"},
  {caller_role::submitter, "submitter"},
  {caller_role::cluster_operator, "operator"},
  {caller_role::admin, "admin"},
}};

constexpr std::array<std::string_view, 9> call_names{
  "Apply", "Get", "Describe", "Delete", "Explain", "Heartbeat", "Events", "Backup", "Snapshot"};

/// The roles that may make a call which is about no object; none where every role may.
std::vector<caller_role> roles_for(api_call what) {
  switch (what) {
  case api_call::heartbeat: // from those who look after the machines, and so may speak for them
    return {caller_role::cluster_operator, caller_role::admin};
  case api_call::backup:   // the store as it is, down to its keys
  case api_call::snapshot: // everybody's work at once
    return {caller_role::admin};
  default:
    return {};
  }
}

bool changes_objects(api_call what) {
  return what == api_call::apply || what == api_call::remove;
}

/// Whether operators look after objects of this kind.
bool is_of_operators(object_kind kind) {
  switch (kind) {
  case object_kind::node:
  case object_kind::queue:
  case object_kind::priority_class:
  case object_kind::resource_group:
  case object_kind::disruption_budget:
    return true;
  case object_kind::workload:
  case object_kind::placement:
  case object_kind::pod:
    break;
  }
  return false;
}

bool has_queue(const caller& who, std::string_view queue) {
  return queue.empty() || std::any_of(who.queues.begin(), who.queues.end(), [&](const auto& own) {
           return own == every_queue || own == queue;
         });
}

bool may_change(const caller& who, const touched_object& o) {
  switch (who.role) {
  case caller_role::admin:
    return true;
  case caller_role::cluster_operator:
    return is_of_operators(o.kind);
  case caller_role::submitter:
    return o.kind == object_kind::workload && has_queue(who, o.queue);
  case caller_role::viewer:
  case caller_role::none:
    break;
  }
  return false;
}

std::string shown(const caller& who) {
  if (who.role != caller_role::submitter)
    return fmt::format("{} ({})", who.name, to_string(who.role));
  if (has_queue(who, every_queue))
    return fmt::format("{} (submitter of every queue)", who.name);
  return fmt::format("{} (submitter of {})", who.name, fmt::join(who.queues, ", "));
}

/// Who may do what the caller may not.
std::string right_for(const touched_object& o) {
  if (is_of_operators(o.kind))
    return "the role operator or admin";
  if (o.kind != object_kind::workload)
    return "the role admin";
  return o.queue.empty()
           ? "the role submitter, for its queue, or admin"
           : fmt::format("the role submitter of queue {}, or admin", printable(o.queue));
}

absl::Status check_role(const caller& who, api_call what) {
  const auto allowed = roles_for(what);
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), who.role) != allowed.end())
    return absl::OkStatus();
  std::vector<std::string_view> names;
  for (const auto role : allowed)
    names.push_back(to_string(role));
  return absl::PermissionDeniedError(fmt::format("{} may not call {}; that needs the role {}",
                                                 shown(who), to_string(what),
                                                 fmt::join(names, " or ")));
}

} // namespace

std::string_view to_string(caller_role role) {
  return role_names[static_cast<std::size_t>(role)].second;
}

std::optional<caller_role> role_from(std::string_view text) {
  for (const auto& [role, name] : role_names)
    if (name == text)
      return role;
  return std::nullopt;
}

std::string_view to_string(api_call call) {
  return call_names[static_cast<std::size_t>(call)];
}

std::optional<api_call> api_call_from(std::string_view text) {
  const auto found = std::find(call_names.begin(), call_names.end(), text);
  if (found == call_names.end())
    return std::nullopt;
  return static_cast<api_call>(found - call_names.begin());
}

asked_call asked_by(const apply_request& wanted) {
  asked_call asked{api_call::apply, !wanted.dry_run};
  for (const auto& o : wanted.objects) {
    const auto* w = std::get_if<workload>(&o);
    asked.objects.push_back({kind_of(o), name_of(o), w == nullptr ? std::string{} : w->queue});
  }
  return asked;
}

asked_call asked_by(const get_request&) {
  return {api_call::get};
}

asked_call asked_by(const describe_request&) {
  return {api_call::describe};
}

asked_call asked_by(const delete_request& wanted) {
  asked_call asked{api_call::remove, true};
  for (const auto& name : wanted.names)
    asked.objects.push_back({wanted.kind, name});
  return asked;
}

asked_call asked_by(const explain_request&) {
  return {api_call::explain};
}

absl::Status check_access(const caller& who, api_call what,
                          std::span<const touched_object> objects) {
  if (who.role == caller_role::none)
    return absl::PermissionDeniedError(
      fmt::format("{} may not call {}; that needs a role, and {} has none", shown(who),
                  to_string(what), who.name));
  if (!changes_objects(what))
    return check_role(who, what);
  if (who.role == caller_role::viewer && objects.empty())
    return absl::PermissionDeniedError(
      fmt::format("{} may not call {}; that needs the role submitter, operator or admin",
                  shown(who), to_string(what)));
  const auto denied = std::find_if(objects.begin(), objects.end(),
                                   [&](const auto& o) { return !may_change(who, o); });
  if (denied == objects.end())
    return absl::OkStatus();
  return absl::PermissionDeniedError(fmt::format(
    "{} may not {} {} '{}'{}; that needs {}", shown(who),
    what == api_call::apply ? "apply" : "delete", to_string(denied->kind), printable(denied->name),
    denied->queue.empty() ? "" : " in queue " + printable(denied->queue), right_for(*denied)));
}

} // namespace reprieve
