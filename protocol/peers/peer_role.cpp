#include "protocol/peers/peer_role.hpp"

#include "protocol/access/certificates.hpp"

#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <vector>

namespace reprieve {

static std::string_view organisation_of(peer_role role) {
  return role == peer_role::machines ? "reprieve:machines" : "reprieve:peer";
}

absl::Status check_peer_files(const tls_files& tls) {
  if (tls.empty() || (!tls.certificate.empty() && !tls.key.empty() && !tls.authority.empty()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
    "both ends of a connection between processes of the cluster check each other; give a "
    "certificate, its key and the authority together, or none of them: {} is missing",
    tls.certificate.empty() ? "the certificate"
    : tls.key.empty()       ? "the key"
                            : "the authority"));
}

absl::Status check_role(const grpc::AuthContext* connection, peer_role wanted,
                        std::string_view name) {
  const auto shown = connection == nullptr
                       ? std::vector<grpc::string_ref>{}
                       : connection->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  const auto who = shown.empty()
                     ? absl::StatusOr<certificate_subject>(absl::NotFoundError("no certificate"))
                     : subject_of({shown.front().data(), shown.front().size()});
  if (!who.ok())
    return absl::UnauthenticatedError("it shows no certificate that can be read");
  const auto organisation = organisation_of(wanted);
  if (std::ranges::find(who->organisations, organisation) == who->organisations.end())
    return absl::PermissionDeniedError(
      fmt::format("the organisation in its certificate must be {}", organisation));
  if (wanted == peer_role::replica && !who->units.empty()
      && std::ranges::find(who->units, name) == who->units.end())
    return absl::PermissionDeniedError(fmt::format("its certificate is for {}, and not for '{}'",
                                                   fmt::join(who->units, ", "), name));
  return absl::OkStatus();
}

} // namespace reprieve
