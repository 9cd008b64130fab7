#include "protocol/access/identification.hpp"

#include "protocol/access/certificates.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

constexpr std::string_view bearer = "Bearer ";
constexpr std::string_view role_prefix = "reprieve:";

absl::StatusOr<caller> in_time(const caller_file::entry& found, time_point now) {
  if (found.until != no_time && now > found.until)
    return absl::UnauthenticatedError(
      fmt::format("what {} shows was good until {} only; ask for a new one", found.who.name,
                  format_time(found.until)));
  return found.who;
}

absl::StatusOr<caller> by_token(std::string_view authorization, const known_by& known,
                                time_point now) {
  if (!authorization.starts_with(bearer))
    return absl::UnauthenticatedError("the authorization must begin with 'Bearer '");
  if (known.callers == nullptr)
    return absl::UnauthenticatedError(
      "this server takes no tokens; show a client certificate (--tls-cert, --tls-key)");
  const auto* found = known.callers->by_token(authorization.substr(bearer.size()));
  if (found == nullptr)
    return absl::UnauthenticatedError("the token is not known here; was it replaced?");
  return in_time(*found, now);
}

absl::StatusOr<caller> by_certificate(const std::string& pem, const known_by& known,
                                      time_point now) {
  auto subject = subject_of(pem);
  if (!subject.ok() || subject->common_name.empty())
    return absl::UnauthenticatedError("the client certificate must have one common name");
  if (known.callers != nullptr)
    if (const auto* found = known.callers->by_certificate(subject->common_name))
      return in_time(*found, now);
  for (const std::string_view organisation : subject->organisations) {
    if (!organisation.starts_with(role_prefix))
      continue;
    if (const auto role = role_from(organisation.substr(role_prefix.size())))
      return caller{subject->common_name, *role, std::move(subject->units)};
  }
  return absl::UnauthenticatedError(
    fmt::format("the client certificate of {} tells no role: its organisation is '{}', and must be "
                "reprieve:admin, reprieve:operator, reprieve:submitter or reprieve:viewer",
                subject->common_name, fmt::join(subject->organisations, "', '")));
}

std::string_view what_to_show(const known_by& known) {
  if (known.callers == nullptr)
    return "a client certificate (--tls-cert and --tls-key)";
  return known.certificates ? "a token (--token-file or REPRIEVE_TOKEN) or a client certificate "
                              "(--tls-cert and --tls-key)"
                            : "a token (--token-file or REPRIEVE_TOKEN)";
}

} // namespace

absl::StatusOr<caller> identify(const credentials_shown& shown, const known_by& known,
                                time_point now) {
  if (known.callers == nullptr && !known.certificates)
    return caller{"anybody", caller_role::admin};
  if (!shown.authorization.empty())
    return by_token(shown.authorization, known, now);
  if (known.certificates && !shown.certificate.empty())
    return by_certificate(shown.certificate, known, now);
  return absl::UnauthenticatedError(
    fmt::format("the server does not know who calls; show {}", what_to_show(known)));
}

std::string host_of_peer(std::string_view peer) {
  if (!peer.starts_with("ipv4:") && !peer.starts_with("ipv6:"))
    return std::string(peer);
  return std::string(peer.substr(5, peer.rfind(':') - 5));
}

} // namespace reprieve
