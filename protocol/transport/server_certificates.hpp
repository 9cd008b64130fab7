#pragma once

#include "protocol/access/tls_files.hpp"

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace grpc {
class ServerCredentials;
}

namespace reprieve {

/// The certificates that a server shows and checks others by. They can be replaced while it runs:
/// every new connection gets those of that time.
class server_certificates : public std::enable_shared_from_this<server_certificates> {
public:
  /// Has nothing before the first `load`.
  explicit server_certificates(tls_files files) : files_(std::move(files)) {}

  /// Reads the files, the first time or anew. Where they can't be used, those from before stay.
  absl::Status load();

  /// Where there is an authority, clients are asked for a certificate; `required` refuses those who
  /// have none. Must live as long as the server that uses it.
  std::shared_ptr<grpc::ServerCredentials> credentials(bool required);

  const tls_files& files() const {
    return files_;
  }

  /// The texts, and which replacement they are.
  std::pair<tls_texts, std::uint64_t> current() const;

private:
  tls_files files_;
  mutable std::mutex mutex_;
  tls_texts texts_;
  std::uint64_t version_ = 0;
};

} // namespace reprieve
