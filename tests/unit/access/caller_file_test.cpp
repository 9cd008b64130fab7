#include "protocol/access/caller_file.hpp"
#include "protocol/access/certificates.hpp"
#include "state/quantities/quantity.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

const std::string digest_of_secret = sha256_hex("a-secret-of-some-length");

std::string refusal_of(std::string_view text) {
  const auto parsed = caller_file::parse(text);
  return parsed.ok() ? "taken" : std::string(parsed.status().message());
}

TEST(caller_file, knows_callers_by_their_tokens) {
  const auto callers =
    caller_file::parse("# people\n\nalice admin sha256=" + digest_of_secret
                       + "\nci\tsubmitter queues=train,eval until=2027-01-01T00:00:00Z "
                         "token=another-secret-of-mine # robots\r\n");
  ASSERT_TRUE(callers.ok()) << callers.status();
  const auto* alice = callers->by_token("a-secret-of-some-length");
  ASSERT_NE(alice, nullptr);
  EXPECT_EQ(alice->who, (caller{"alice", caller_role::admin}));
  EXPECT_EQ(alice->until, no_time);
  const auto* ci = callers->by_token("another-secret-of-mine");
  ASSERT_NE(ci, nullptr);
  EXPECT_EQ(ci->who, (caller{"ci", caller_role::submitter, {"train", "eval"}}));
  EXPECT_EQ(format_time(ci->until), "2027-01-01T00:00:00Z");
  EXPECT_EQ(callers->by_token("a-secret-of-some-lengt"), nullptr);
  EXPECT_EQ(callers->by_token(""), nullptr);
  EXPECT_EQ(callers->by_token(digest_of_secret), nullptr);
}

TEST(caller_file, keeps_certificates_and_tokens_apart) {
  const auto callers =
    caller_file::parse("ops operator certificate\nops viewer token=a-secret-of-some-length\n");
  ASSERT_TRUE(callers.ok()) << callers.status();
  EXPECT_EQ(callers->by_certificate("ops")->who.role, caller_role::cluster_operator);
  EXPECT_EQ(callers->by_token("a-secret-of-some-length")->who.role, caller_role::viewer);
  EXPECT_EQ(callers->by_certificate("alice"), nullptr);
}

TEST(caller_file, that_names_nobody_is_refused) {
  for (const auto* text : {"", "\n\n", " \t \r\n", "# nobody\n# at all", "\xEF\xBB\xBF"})
    EXPECT_TRUE(refusal_of(text).starts_with("names no caller; ")) << refusal_of(text);
}

TEST(caller_file, may_begin_with_a_byte_order_mark) {
  const auto callers = caller_file::parse("\xEF\xBB\xBF"
                                          "ops operator certificate\n");
  ASSERT_TRUE(callers.ok()) << callers.status();
  EXPECT_NE(callers->by_certificate("ops"), nullptr);
  EXPECT_EQ(refusal_of("ops operator certificate\n\xEF\xBB\xBF"),
            "line 2: after the name comes the role: admin, operator, submitter, viewer or none");
}

TEST(caller_file, refuses_what_it_does_not_understand_with_the_line) {
  const std::string good = "a admin token=a-secret-of-some-length\n";
  const std::vector<std::pair<std::string, std::string>> cases{
    {"b", "line 2: after the name comes the role"},
    {"b root token=a-secret-of-some-length", "line 2: after the name comes the role"},
    {"b viewer", "line 2: say how the caller is known"},
    {"b viewer certificate token=a-secret-of-some-length", "line 2: say how the caller is known"},
    {"b viewer token=short", "line 2: the token is short"},
    {"b viewer sha256=12ab", "line 2: what follows sha256= must be 64"},
    {"b viewer until=tomorrow certificate", "line 2: until: "},
    {"b submitter certificate", "line 2: a submitter needs queues="},
    {"b submitter queues=, certificate", "line 2: a submitter needs queues="},
    {"b admin queues=x certificate", "line 2: queues= is for submitters only"},
    {"b viewer a-secret-in-a-wrong-place", "line 2: a word is not known"},
    {"b viewer token=a-secret-of-some-length", "line 2: an earlier line has the same token"},
    {"b viewer certificate\nb admin certificate",
     "line 3: an earlier line is about the same certificate"},
  };
  for (const auto& [line, expected] : cases) {
    const auto said = refusal_of(good + line + "\n");
    EXPECT_TRUE(said.starts_with(expected)) << line << "\n" << said;
    EXPECT_EQ(said.find("secret"), std::string::npos) << "a token is told: " << said;
  }
}

} // namespace

} // namespace reprieve
