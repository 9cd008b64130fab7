#include "protocol/transport/server_certificates.hpp"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/security/server_credentials.h>

#include <utility>

namespace reprieve {

namespace {

/// gRPC's C++ side has no credentials that are asked for certificates at every connection, but its
/// C side has; this hands those over. FileWatcherCertificateProvider would reload files, too, but
/// takes new ones unseen, and a broken one would shut everybody out.
class reloading_credentials final : public grpc::ServerCredentials {
public:
  reloading_credentials(std::shared_ptr<server_certificates> source, bool required)
      : source_(std::move(source)) {
    auto request = GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    if (!source_->files().authority.empty())
      request = required ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                         : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
    made_ = grpc_ssl_server_credentials_create_with_options(
      grpc_ssl_server_credentials_create_options_using_config_fetcher(request, fetch, this));
  }

  ~reloading_credentials() override {
    grpc_server_credentials_release(made_);
  }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), made_);
  }

  /// Called under a lock of gRPC's, when a connection comes in.
  static grpc_ssl_certificate_config_reload_status
  fetch(void* self, grpc_ssl_server_certificate_config** config) {
    auto& that = *static_cast<reloading_credentials*>(self);
    const auto [texts, version] = that.source_->current();
    if (std::exchange(that.fetched_, version) == version)
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{texts.key.c_str(), texts.certificate.c_str()};
    // gRPC insists on authorities, also where clients are not asked for a certificate.
    *config = grpc_ssl_server_certificate_config_create(
      (texts.authority.empty() ? texts.certificate : texts.authority).c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  std::shared_ptr<server_certificates> source_;
  grpc_server_credentials* made_ = nullptr;
  std::uint64_t fetched_ = 0;
};

} // namespace

absl::Status server_certificates::load() {
  if (files_.certificate.empty() || files_.key.empty())
    return absl::InvalidArgumentError(
      "a server that encrypts needs a certificate and its key; give --tls-cert and --tls-key");
  auto read = read_tls(files_);
  if (!read.ok())
    return read.status();
  const std::lock_guard lock(mutex_);
  texts_ = *std::move(read);
  ++version_;
  return absl::OkStatus();
}

std::pair<tls_texts, std::uint64_t> server_certificates::current() const {
  const std::lock_guard lock(mutex_);
  return {texts_, version_};
}

std::shared_ptr<grpc::ServerCredentials> server_certificates::credentials(bool required) {
  return std::make_shared<reloading_credentials>(shared_from_this(), required);
}

} // namespace reprieve
