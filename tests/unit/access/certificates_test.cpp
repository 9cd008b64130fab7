#include "protocol/access/certificates.hpp"
#include "protocol/access/tls_files.hpp"
#include "tests/support/certificate_maker.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace reprieve {

namespace {

using std::filesystem::perms;

const certificate_maker& made() {
  static const certificate_maker one({"node.example", "10.1.2.3"});
  return one;
}

std::string why_not(const tls_files& files) {
  const auto read = read_tls(files);
  return read.ok() ? "taken" : std::string(read.status().message());
}

TEST(certificates, tell_name_role_and_queues) {
  made().make({"--client", "ci", "submitter", "train", "eval"});
  const auto subject = subject_of(made().text("ci.crt"));
  ASSERT_TRUE(subject.ok()) << subject.status();
  EXPECT_EQ(subject->common_name, "ci");
  EXPECT_EQ(subject->organisations, std::vector<std::string>{"reprieve:submitter"});
  EXPECT_EQ(subject->units, (std::vector<std::string>{"train", "eval"}));
  EXPECT_FALSE(subject_of("no certificate").ok());
  EXPECT_FALSE(subject_of("").ok());
}

TEST(certificates, have_digests_like_everybody_else) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(certificates, keys_are_for_their_owner_only) {
  for (const auto* name : {"ca", "server", "admin", "viewer", "peer"}) {
    const auto key = std::filesystem::status(made().file(std::string(name) + ".key"));
    EXPECT_EQ(key.permissions() & perms::mask, perms::owner_read | perms::owner_write) << name;
  }
  const auto directory = std::filesystem::status(made().file("."));
  EXPECT_EQ(directory.permissions() & perms::mask, perms::owner_all);
}

TEST(certificates, a_second_run_replaces_nothing) {
  const certificate_maker twice;
  const auto key = twice.text("server.key");
  const auto authority = twice.text("ca.crt");
  const auto again = twice.make({"other.example"});
  EXPECT_NE(again.output.find("kept " + twice.file("server.crt")), std::string::npos)
    << again.output;
  EXPECT_EQ(twice.text("server.key"), key);
  EXPECT_EQ(twice.text("ca.crt"), authority);
  twice.remove("server.key");
  twice.remove("server.crt");
  twice.make({});
  EXPECT_NE(twice.text("server.key"), key);
  EXPECT_EQ(twice.text("ca.crt"), authority);
}

TEST(tls_files, that_fit_are_read) {
  const tls_files files{made().file("server.crt"), made().file("server.key"),
                        made().file("ca.crt")};
  const auto read = read_tls(files);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->key, made().text("server.key"));
  EXPECT_TRUE(read_tls({}).ok());
  EXPECT_TRUE(read_tls({{}, {}, made().file("ca.crt")}).ok());
}

TEST(tls_files, that_do_not_fit_are_told) {
  const auto certificate = made().file("server.crt");
  const auto key = made().file("server.key");
  EXPECT_EQ(why_not({certificate, {}, {}}), "a certificate needs its key; give both");
  EXPECT_EQ(why_not({{}, key, {}}), "a key needs its certificate; give both");
  EXPECT_EQ(why_not({certificate, made().file("admin.key"), {}}),
            certificate + " with " + made().file("admin.key")
              + ": the key is not that of the certificate");
  EXPECT_EQ(why_not({certificate, "/nowhere.key", {}}),
            "/nowhere.key can't be read: No such file or directory");
  EXPECT_NE(why_not({key, key, {}}).find("the certificate can't be read"), std::string::npos);
  EXPECT_NE(why_not({certificate, certificate, {}}).find("the key can't be read"),
            std::string::npos);
  EXPECT_NE(why_not({{}, {}, key}).find("certificate 1 of the authorities can't be read"),
            std::string::npos);
}

TEST(tls_files, an_authority_that_is_cut_off_is_refused) {
  const auto whole = made().text("ca.crt");
  EXPECT_TRUE(check_authorities(whole + made().text("admin.crt")).ok());
  EXPECT_FALSE(check_authorities(whole + whole.substr(0, whole.size() / 2)).ok());
  EXPECT_FALSE(check_authorities("").ok());
}

TEST(tls_files, a_certificate_past_its_time_is_refused) {
  made().make({"--days", "0", "--client", "late", "viewer"});
  EXPECT_NE(why_not({made().file("late.crt"), made().file("late.key"), {}}).find("was good until"),
            std::string::npos);
}

TEST(tls_files, a_key_with_a_password_is_refused_without_a_question) {
  const auto locked = made().file("locked.key");
  ASSERT_EQ(run_program({"/usr/bin/openssl", "pkcs8", "-topk8", "-in", made().file("server.key"),
                         "-out", locked, "-passout", "pass:secret"})
              .code,
            0);
  EXPECT_NE(why_not({made().file("server.crt"), locked, {}}).find("without a password"),
            std::string::npos);
}

} // namespace

} // namespace reprieve
