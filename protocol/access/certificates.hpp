#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// Whom a certificate is for, by the fields that matter here.
struct certificate_subject {
  std::string common_name;
  std::vector<std::string> organisations;
  std::vector<std::string> units;
};

/// Of the first certificate in PEM text.
absl::StatusOr<certificate_subject> subject_of(const std::string& pem);

/// Whether a server or client can show the first certificate of the text with this key now: both
/// can be read, belong together, and the certificate is in its time. What is wrong is told without
/// naming files.
absl::Status check_identity(const std::string& certificate_pem, const std::string& key_pem);

/// Whether the text has certificates, and nothing but whole ones, to check others by.
absl::Status check_authorities(const std::string& pem);

/// 64 lower-case hex digits.
std::string sha256_hex(std::string_view text);

} // namespace reprieve
