#pragma once

#include <absl/status/statusor.h>

#include <string>

namespace reprieve {

/// Where the parts of one side of a TLS connection are; each may be empty.
struct tls_files {
  std::string certificate; ///< ours, with those between it and the authority
  std::string key;         ///< of our certificate
  std::string authority;   ///< certificates that the other side's is checked by

  bool empty() const {
    return certificate.empty() && key.empty() && authority.empty();
  }
};

/// The same as PEM text.
struct tls_texts {
  std::string certificate;
  std::string key;
  std::string authority;

  bool operator==(const tls_texts&) const = default;
};

/// What a file of moderate size holds.
absl::StatusOr<std::string> read_small_file(const std::string& path);

/// Reads the files and checks that they can be used, so that a half-written or wrong one is told
/// apart before anything depends on it.
absl::StatusOr<tls_texts> read_tls(const tls_files& files);

} // namespace reprieve
