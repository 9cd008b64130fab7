#include "protocol/access/identification.hpp"
#include "protocol/access/listen_address.hpp"
#include "state/quantities/quantity.hpp"
#include "tests/support/certificate_maker.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

const time_point now = *parse_time("2026-06-01T00:00:00Z");

const caller_file& callers() {
  static const auto parsed =
    caller_file::parse("alice operator token=alice-has-this-token\n"
                       "gone viewer until=2026-05-31T00:00:00Z token=gone-had-this-token\n"
                       "viewer none certificate\n");
  return *parsed;
}

const certificate_maker& made() {
  static const certificate_maker one;
  return one;
}

std::string why_not(const credentials_shown& shown, const known_by& known) {
  const auto who = identify(shown, known, now);
  if (who.ok())
    return "known as " + who->name;
  EXPECT_TRUE(absl::IsUnauthenticated(who.status())) << who.status();
  return std::string(who.status().message());
}

TEST(identification, where_nothing_is_asked_everybody_may_do_everything) {
  const auto who = identify({}, {}, now);
  ASSERT_TRUE(who.ok());
  EXPECT_EQ(who->role, caller_role::admin);
}

TEST(identification, goes_by_the_token) {
  const auto who = identify({"Bearer alice-has-this-token", {}}, {&callers(), false}, now);
  ASSERT_TRUE(who.ok()) << who.status();
  EXPECT_EQ(*who, (caller{"alice", caller_role::cluster_operator}));
}

TEST(identification, refuses_wrong_old_and_missing_tokens_with_a_sentence) {
  const known_by known{&callers(), false};
  EXPECT_EQ(why_not({"Bearer alice-has-this-tokem", {}}, known),
            "the token is not known here; was it replaced?");
  EXPECT_EQ(why_not({"alice-has-this-token", {}}, known),
            "the authorization must begin with 'Bearer '");
  EXPECT_EQ(why_not({"Bearer gone-had-this-token", {}}, known),
            "what gone shows was good until 2026-05-31T00:00:00Z only; ask for a new one");
  EXPECT_EQ(why_not({}, known), "the server does not know who calls; show a token (--token-file or "
                                "REPRIEVE_TOKEN)");
  EXPECT_NE(why_not({"Bearer x", {}}, {nullptr, true}).find("takes no tokens"), std::string::npos);
}

TEST(identification, goes_by_the_organisation_of_the_certificate) {
  made().make({"--client", "ci", "submitter", "train"});
  const auto admin = identify({{}, made().text("admin.crt")}, {nullptr, true}, now);
  ASSERT_TRUE(admin.ok()) << admin.status();
  EXPECT_EQ(*admin, (caller{"admin", caller_role::admin}));
  const auto ci = identify({{}, made().text("ci.crt")}, {&callers(), true}, now);
  ASSERT_TRUE(ci.ok()) << ci.status();
  EXPECT_EQ(*ci, (caller{"ci", caller_role::submitter, {"train"}}));
}

TEST(identification, the_file_overrules_the_certificate) {
  const credentials_shown shown{{}, made().text("viewer.crt")};
  EXPECT_EQ(identify(shown, {nullptr, true}, now)->role, caller_role::viewer);
  EXPECT_EQ(identify(shown, {&callers(), true}, now)->role, caller_role::none);
}

TEST(identification, certificates_of_others_have_no_role) {
  const known_by known{nullptr, true};
  EXPECT_NE(why_not({{}, made().text("peer.crt")}, known).find("tells no role"), std::string::npos);
  EXPECT_NE(why_not({{}, made().text("server.crt")}, known).find("tells no role"),
            std::string::npos);
  EXPECT_NE(why_not({{}, "nonsense"}, known).find("one common name"), std::string::npos);
}

TEST(identification, a_certificate_counts_only_where_they_are_checked) {
  EXPECT_NE(why_not({{}, made().text("admin.crt")}, {&callers(), false}).find("does not know"),
            std::string::npos);
}

TEST(identification, a_wrong_token_is_not_helped_by_a_good_certificate) {
  EXPECT_NE(why_not({"Bearer wrong", made().text("admin.crt")}, {&callers(), true}).find("token"),
            std::string::npos);
}

TEST(identification, those_without_a_name_are_told_apart_by_their_host) {
  EXPECT_EQ(host_of_peer("ipv4:10.0.0.1:5555"), "10.0.0.1");
  EXPECT_EQ(host_of_peer("ipv6:[::1]:5555"), "[::1]");
  EXPECT_EQ(host_of_peer("ipv6:%5B::1%5D:5555"), "%5B::1%5D");
  EXPECT_EQ(host_of_peer("unix:/run/x.sock"), "unix:/run/x.sock");
}

TEST(listen_address, knows_which_addresses_stay_on_this_machine) {
  for (const auto* local : {"127.0.0.1:7420", "127.8.9.1:0", "localhost:7420", "[::1]:7420", "::1",
                            "unix:/run/reprieve.sock"})
    EXPECT_TRUE(is_local(local)) << local;
  for (const auto* open :
       {"0.0.0.0:7420", "[::]:7420", "10.0.0.1:7420", "example.org:7420", ":7420",
        "localhost.example.org:1", "128.0.0.1:1", "127.0.0.1.example.org:1", ""})
    EXPECT_FALSE(is_local(open)) << open;
}

TEST(listen_address, beyond_this_machine_needs_encryption_and_callers_or_a_word) {
  for (const bool encrypted : {false, true})
    for (const bool asks : {false, true})
      for (const bool insecure : {false, true}) {
        const protection how{encrypted, asks, insecure};
        EXPECT_TRUE(check_exposure("127.0.0.1:0", how).ok());
        EXPECT_EQ(check_exposure("0.0.0.0:0", how).ok(), insecure || (encrypted && asks));
      }
  const auto refused = check_exposure("0.0.0.0:7420", {});
  EXPECT_NE(refused.message().find("--insecure"), absl::string_view::npos) << refused;
}

} // namespace

} // namespace reprieve
