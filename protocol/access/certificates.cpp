#include "protocol/access/certificates.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <memory>

namespace reprieve {

namespace {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* what) const {
    Free(what);
  }
};

using bio_pointer = std::unique_ptr<BIO, freed_by<BIO_free>>;
using certificate_pointer = std::unique_ptr<X509, freed_by<X509_free>>;
using key_pointer = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;

bio_pointer reader_of(const std::string& text) {
  return bio_pointer{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

/// The next certificate, or null; then OpenSSL's list of errors says why.
certificate_pointer next_certificate(BIO* from) {
  return certificate_pointer{PEM_read_bio_X509(from, nullptr, nullptr, nullptr)};
}

/// Empties OpenSSL's list of errors, and tells whether the last one was that the text ended.
bool text_ended() {
  const auto last = ERR_peek_last_error();
  ERR_clear_error();
  return ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
}

/// A key that is locked by a password is not asked about on the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

std::vector<std::string> entries(X509_NAME* subject, int field) {
  std::vector<std::string> found;
  for (int at = X509_NAME_get_index_by_NID(subject, field, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, field, at)) {
    unsigned char* text = nullptr;
    const int size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size >= 0)
      found.emplace_back(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
  }
  return found;
}

std::string shown(const ASN1_TIME* time) {
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1)
    return "an unknown time";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

} // namespace

absl::StatusOr<certificate_subject> subject_of(const std::string& pem) {
  const auto read = next_certificate(reader_of(pem).get());
  ERR_clear_error();
  if (!read)
    return absl::InvalidArgumentError("the text holds no certificate in PEM form");
  auto* subject = X509_get_subject_name(read.get());
  certificate_subject found;
  // Several common names could be read in two ways; then there is none.
  if (auto names = entries(subject, NID_commonName); names.size() == 1)
    found.common_name = std::move(names.front());
  found.organisations = entries(subject, NID_organizationName);
  found.units = entries(subject, NID_organizationalUnitName);
  return found;
}

absl::Status check_identity(const std::string& certificate_pem, const std::string& key_pem) {
  const auto certificate = next_certificate(reader_of(certificate_pem).get());
  const key_pointer key{
    PEM_read_bio_PrivateKey(reader_of(key_pem).get(), nullptr, no_password, nullptr)};
  ERR_clear_error();
  if (!certificate)
    return absl::InvalidArgumentError("the certificate can't be read; it must be in PEM form");
  if (!key)
    return absl::InvalidArgumentError(
      "the key can't be read; it must be in PEM form and without a password");
  const bool belongs = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!belongs)
    return absl::InvalidArgumentError("the key is not that of the certificate");
  const auto* from = X509_get0_notBefore(certificate.get());
  const auto* until = X509_get0_notAfter(certificate.get());
  if (X509_cmp_current_time(until) <= 0)
    return absl::InvalidArgumentError(
      fmt::format("the certificate was good until {} only", shown(until)));
  if (X509_cmp_current_time(from) > 0)
    return absl::InvalidArgumentError(
      fmt::format("the certificate is good from {} on only", shown(from)));
  return absl::OkStatus();
}

absl::Status check_authorities(const std::string& pem) {
  const auto reader = reader_of(pem);
  int count = 0;
  while (next_certificate(reader.get()))
    ++count;
  const bool whole = text_ended();
  if (count == 0 || !whole)
    return absl::InvalidArgumentError(fmt::format(
      "certificate {} of the authorities can't be read; all must be in PEM form", count + 1));
  return absl::OkStatus();
}

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i)
    hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

} // namespace reprieve
