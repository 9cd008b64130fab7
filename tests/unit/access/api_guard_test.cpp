#include "protocol/access/api_guard.hpp"
#include "protocol/access/listen_address.hpp"
#include "state/model/unchanged_error.hpp"
#include "state/quantities/quantity.hpp"
#include "testbed/processes/child_process.hpp"
#include "testbed/processes/temporary_directory.hpp"
#include "tests/support/certificate_maker.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(rate_limit, lets_a_burst_through_and_then_what_comes_in_steadily) {
  rate_limit limit(10);
  const auto start = rate_limit::instant{seconds{1000}};
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(limit.take("a", start), duration::zero()) << i;
  EXPECT_EQ(limit.take("a", start), milliseconds{100});
  EXPECT_EQ(limit.take("b", start), duration::zero());
  EXPECT_EQ(limit.take("a", start + milliseconds{100}), duration::zero());
  EXPECT_GT(limit.take("a", start + milliseconds{150}), duration::zero());
  int taken = 0;
  for (int i = 0; i < 1000; ++i)
    taken += limit.take("a", start + seconds{10} + milliseconds{i}) == duration::zero() ? 1 : 0;
  EXPECT_EQ(taken, 29); // 20 that were saved up and what came in within the second
}

TEST(rate_limit, of_zero_is_none) {
  rate_limit limit(0);
  for (int i = 0; i < 10'000; ++i)
    ASSERT_EQ(limit.take("a", {}), duration::zero());
}

TEST(rate_limit, stays_small_however_many_clients_come) {
  rate_limit limit(1);
  const auto start = rate_limit::instant{seconds{1000}};
  for (int i = 0; i < 50'000; ++i)
    ASSERT_EQ(limit.take(std::to_string(i), start), duration::zero());
}

TEST(rate_limit, what_is_spent_beyond_the_bucket_has_to_come_in_first) {
  rate_limit limit(1000, seconds{16});
  const auto start = rate_limit::instant{seconds{1000}};
  limit.spend("a", start, 20'000);
  EXPECT_EQ(limit.take("a", start), seconds{4} + milliseconds{1});
  EXPECT_EQ(limit.take("b", start), duration::zero());
  EXPECT_GT(limit.take("a", start + seconds{4}), duration::zero());
  EXPECT_EQ(limit.take("a", start + seconds{5}), duration::zero());
}

TEST(network_of, is_the_address_or_of_ipv6_what_one_machine_has) {
  EXPECT_EQ(network_of("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(network_of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("[2001:db8:1:2::9]"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("%5Bfe80::1%25eth0%5D"), "fe80::/64");
  EXPECT_EQ(network_of("2001:db8:1:3::9"), "2001:db8:1:3::/64");
  EXPECT_EQ(network_of("::ffff:10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(network_of("[::1]"), "::1");
  EXPECT_EQ(network_of("unix:/run/x.sock"), "unix:/run/x.sock");
  EXPECT_EQ(network_of(""), "");
}

TEST(listen_address, that_nothing_can_listen_on_is_not_taken_for_a_local_one) {
  EXPECT_FALSE(is_local("unix-abstract:reprieve"));
}

TEST(client_limit, counts_in_all_and_for_each_client) {
  client_limit limit({"streams open", "end one first", "--streams", 3, 2});
  auto one = limit.open("a");
  auto two = limit.open("a");
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(limit.open("a").status().message(),
            "a has 2 streams open, and one client may have 2; end one first, or raise "
            "--streams-per-client of reprieved");
  const auto three = limit.open("b");
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(limit.open("c").status().message(),
            "there are 3 streams open, and this server takes 3; try again when there are fewer, or "
            "raise --streams of reprieved");
  one = absl::CancelledError();
  EXPECT_TRUE(limit.open("a").ok());
}

TEST(client_limit, counts_amounts) {
  client_limit limit({"bytes", "wait", "--bytes", 100, 60});
  auto some = limit.open("a", 50);
  ASSERT_TRUE(some.ok());
  EXPECT_FALSE(limit.open("a", 11).ok());
  EXPECT_TRUE(limit.open("a", 10).ok());
  EXPECT_FALSE(limit.open("b", 61).ok());
  EXPECT_TRUE(limit.open("b", 50).ok());
  some = absl::CancelledError();
  EXPECT_TRUE(limit.open("a", 60).ok());
}

TEST(client_limit, counts_nothing_for_an_amount_of_nothing) {
  client_limit limit({"bytes", "wait", "--bytes", 100, 60});
  {
    const auto one = limit.open("a", 0);
    const auto two = limit.open("a", 0);
    ASSERT_TRUE(one.ok() && two.ok());
  }
  EXPECT_TRUE(limit.open("a", 60).ok());
}

TEST(file_watch, tells_of_new_contents_once_they_have_settled) {
  const temporary_directory directory;
  const auto path = (directory.path() / "watched").string();
  std::ofstream(path) << "one";
  std::atomic<int> told = 0;
  file_watch watch(milliseconds{5});
  watch.add({path}, [&] { ++told; });
  std::this_thread::sleep_for(milliseconds{50});
  EXPECT_EQ(told, 0);
  std::ofstream(path + ".new") << "two";
  std::filesystem::rename(path + ".new", path);
  for (int i = 0; i < 400 && told == 0; ++i)
    std::this_thread::sleep_for(milliseconds{5});
  EXPECT_EQ(told, 1);
  std::filesystem::remove(path);
  for (int i = 0; i < 400 && told == 1; ++i)
    std::this_thread::sleep_for(milliseconds{5});
  EXPECT_EQ(told, 2);
}

std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(file_contents(path));
  for (std::string line; std::getline(in, line);)
    lines.push_back(nlohmann::json::parse(line, nullptr, false));
  return lines;
}

TEST(audit_log, writes_one_object_a_line_and_adds_to_what_is_there) {
  const temporary_directory directory;
  const auto path = (directory.path() / "audit").string();
  audit_record record;
  record.who = "al\"ice\n";
  record.from = "ipv4:127.0.0.1:1";
  record.objects = {{object_kind::workload, "job"}};
  for (int i = 0; i < 2; ++i) {
    auto log = audit_log::open(path);
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE((*log)->append(record).ok());
  }
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["who"], "al\"ice\n");
  EXPECT_EQ(lines[1]["objects"][0], "Workload/job");
}

TEST(audit_log, has_only_so_much_room_for_what_a_caller_writes) {
  audit_record record;
  record.message = std::string(1 << 20, '\x1b');
  for (int i = 0; i < 200'000; ++i)
    record.objects.push_back(
      {object_kind::workload, i == 0 ? std::string(60 << 20, '\x01') : "job"});
  const auto of_nobody = to_json(record);
  EXPECT_LT(of_nobody.size(), 64U << 10U);
  const auto line = nlohmann::json::parse(of_nobody);
  EXPECT_EQ(line["objects"].size(), 10U);
  EXPECT_EQ(line["objects_in_all"], 200'000);
  EXPECT_NE(line["objects"][0].get<std::string>().find("(62914560 bytes in all)"),
            std::string::npos);

  record.who = "alice";
  const auto all = to_json(record);
  EXPECT_LT(all.size(), 2U << 20U);
  const auto of_alice = nlohmann::json::parse(all);
  EXPECT_GT(of_alice["objects"].size(), 50'000U);
  EXPECT_EQ(of_alice["objects"][49'999], "Workload/job");
  EXPECT_EQ(of_alice["objects_in_all"], 200'000);

  record.stage = "ended"; // the line that begins it has the names
  const auto ended = to_json(record);
  EXPECT_LT(ended.size(), 64U << 10U);
  EXPECT_EQ(nlohmann::json::parse(ended)["objects_in_all"], 200'000);
}

TEST(audit_log, goes_on_in_a_new_file_when_the_old_one_was_moved) {
  const temporary_directory directory;
  const auto path = (directory.path() / "audit").string();
  const auto log = audit_log::open(path);
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE((*log)->append({}).ok());
  std::filesystem::rename(path, path + ".1");
  ASSERT_TRUE((*log)->append({}).ok());
  EXPECT_EQ(lines_of(path).size(), 1U);
  EXPECT_EQ(lines_of(path + ".1").size(), 1U);
}

TEST(audit_log, writes_to_no_pipe_in_its_place_and_goes_on_when_that_has_gone) {
  const temporary_directory directory;
  const auto path = (directory.path() / "audit").string();
  const auto log = audit_log::open(path);
  ASSERT_TRUE(log.ok()) << log.status();
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ((*log)->append({}).message(),
              "the audit file " + path + " can't be written: it is not a regular file");
  char byte = 0;
  EXPECT_EQ(::read(reader, &byte, 1), 0);
  ::close(reader);
  EXPECT_FALSE((*log)->append({}).ok()); // nobody reads it now
  std::filesystem::remove(path);
  EXPECT_TRUE((*log)->append({}).ok());
  EXPECT_EQ(lines_of(path).size(), 1U);
}

TEST(audit_log, says_why_it_can_not_be_written) {
  const auto missing = audit_log::open("/nowhere/audit");
  EXPECT_EQ(missing.status().message(),
            "the audit file /nowhere/audit can't be written: No such file or directory");
  const auto full = audit_log::open("/dev/full");
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ((*full)->append({}).message(),
            "the audit file /dev/full can't be written: No space left on device");
}

/// A guard with two callers and an audit file.
class api_guard_test : public testing::Test {
protected:
  api_guard_test() {
    settings.callers = (directory.path() / "callers").string();
    settings.audit = (directory.path() / "audit").string();
    std::ofstream(settings.callers) << "root admin token=root-has-this-token\n"
                                       "eve viewer token=eve-has-this-token\n";
  }

  void start() {
    auto made = api_guard::make(settings);
    ASSERT_TRUE(made.ok()) << made.status();
    guard = *std::move(made);
  }

  static call_origin from(const std::string& token) {
    return {"ipv4:10.0.0.1:99", {token.empty() ? "" : "Bearer " + token, {}}, {}};
  }

  /// A call up to where it is carried out.
  absl::StatusOr<std::shared_ptr<open_call>> begin(const std::string& token, asked_call asked) {
    auto call = guard->enter(from(token), asked.what);
    if (!call.ok())
      return call;
    if (auto begun = guard->begin(**call, std::move(asked)); !begun.ok())
      return begun;
    return call;
  }

  static asked_call a_change() {
    return {api_call::apply, true, {{object_kind::node, "n1"}}};
  }

  std::vector<nlohmann::json> audit() const {
    return lines_of(settings.audit);
  }

  temporary_directory directory;
  api_settings settings;
  std::unique_ptr<api_guard> guard;
};

TEST_F(api_guard_test, records_a_change_before_it_is_made_and_before_it_is_answered) {
  start();
  const auto call = begin("root-has-this-token", a_change());
  ASSERT_TRUE(call.ok()) << call.status();
  ASSERT_EQ(audit().size(), 1U);
  EXPECT_EQ(audit()[0]["stage"], "begun");
  EXPECT_EQ(audit()[0]["outcome"], "");
  EXPECT_FALSE(guard->end(**call, absl::NotFoundError("gone")).ok());
  ASSERT_EQ(audit().size(), 2U);
  const auto ended = audit()[1];
  EXPECT_EQ(ended["id"], audit()[0]["id"]);
  EXPECT_EQ(ended["stage"], "ended");
  EXPECT_EQ(ended["who"], "root");
  EXPECT_EQ(ended["role"], "admin");
  EXPECT_EQ(ended["from"], "ipv4:10.0.0.1:99");
  EXPECT_EQ(ended["call"], "Apply");
  EXPECT_EQ(ended["objects"][0], "Node/n1");
  EXPECT_EQ(ended["outcome"], "NOT_FOUND");
  EXPECT_EQ(ended["message"], "gone");
}

TEST_F(api_guard_test, records_refused_changes_but_no_reads) {
  start();
  EXPECT_TRUE(absl::IsPermissionDenied(begin("eve-has-this-token", a_change()).status()));
  EXPECT_TRUE(absl::IsUnauthenticated(begin("", a_change()).status()));
  const auto read = begin("eve-has-this-token", {api_call::get});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(guard->end(**read, absl::OkStatus()).ok());
  ASSERT_EQ(audit().size(), 2U);
  EXPECT_EQ(audit()[0]["stage"], "refused");
  EXPECT_EQ(audit()[0]["who"], "eve");
  EXPECT_EQ(audit()[0]["outcome"], "PERMISSION_DENIED");
  EXPECT_EQ(audit()[1]["who"], "");
  EXPECT_EQ(audit()[1]["outcome"], "UNAUTHENTICATED");
}

TEST_F(api_guard_test, without_room_for_records_refuses_changes_and_not_reads) {
  settings.audit = "/dev/full";
  start();
  const auto change = begin("root-has-this-token", a_change());
  EXPECT_TRUE(absl::IsUnavailable(change.status()));
  EXPECT_TRUE(is_marked_nothing_changed(change.status()));
  EXPECT_NE(change.status().message().find("No space left"), absl::string_view::npos)
    << change.status();
  EXPECT_TRUE(begin("root-has-this-token", {api_call::get}).ok());
}

TEST_F(api_guard_test, says_so_when_a_change_was_made_whose_outcome_has_no_room) {
  settings.audit = (directory.path() / "sub" / "audit").string();
  std::filesystem::create_directory(directory.path() / "sub");
  start();
  const auto call = begin("root-has-this-token", a_change());
  ASSERT_TRUE(call.ok());
  std::filesystem::remove_all(directory.path() / "sub");
  const auto answer = guard->end(**call, absl::OkStatus());
  EXPECT_TRUE(absl::IsDataLoss(answer)) << answer;
  EXPECT_NE(answer.message().find("the change was made"), absl::string_view::npos) << answer;
}

TEST_F(api_guard_test, counts_the_requests_of_each_client) {
  settings.limits.requests_per_second = 1;
  start();
  const asked_call read{api_call::get};
  EXPECT_TRUE(begin("eve-has-this-token", read).ok());
  EXPECT_TRUE(begin("eve-has-this-token", read).ok());
  const auto refused = begin("eve-has-this-token", a_change());
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  EXPECT_NE(refused.status().message().find("eve makes more than 1 requests a second"),
            absl::string_view::npos);
  EXPECT_TRUE(begin("root-has-this-token", read).ok());
  EXPECT_TRUE(audit().empty()) << "a flood would fill the disk";
}

TEST_F(api_guard_test, lets_nobody_in_whose_role_may_not_make_such_a_call) {
  start();
  const auto refused = guard->enter(from("eve-has-this-token"), api_call::apply);
  EXPECT_EQ(refused.status().message(),
            "eve (viewer) may not call Apply; that needs the role submitter, operator or admin");
  EXPECT_FALSE(guard->enter(from("eve-has-this-token"), api_call::remove).ok());
  EXPECT_FALSE(guard->enter(from("eve-has-this-token"), api_call::backup).ok());
  EXPECT_TRUE(guard->enter(from("eve-has-this-token"), api_call::explain).ok());
  EXPECT_EQ(audit().size(), 2U);
}

TEST_F(api_guard_test, counts_what_each_client_has_under_way) {
  settings.limits.calls_per_client = 2;
  start();
  auto one = guard->enter(from("eve-has-this-token"), api_call::get);
  const auto two = guard->enter(from("eve-has-this-token"), api_call::get);
  ASSERT_TRUE(one.ok() && two.ok());
  const auto refused = guard->enter(from("eve-has-this-token"), api_call::get);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  EXPECT_TRUE(guard->enter(from("root-has-this-token"), api_call::get).ok());
  one = absl::CancelledError();
  EXPECT_TRUE(guard->enter(from("eve-has-this-token"), api_call::get).ok());
}

TEST_F(api_guard_test, streams_do_not_count_as_calls_under_way) {
  settings.limits.calls_per_client = 1;
  start();
  std::vector<stream_pointer> open;
  for (int i = 0; i < 3; ++i) {
    const auto call = guard->enter(from("eve-has-this-token"), api_call::events);
    ASSERT_TRUE(call.ok()) << call.status();
    auto stream = guard->keep_open(*call);
    ASSERT_TRUE(stream.ok()) << stream.status();
    open.push_back(*std::move(stream));
  }
}

TEST_F(api_guard_test, records_a_few_refusals_of_strangers_and_counts_the_others) {
  start();
  for (int i = 0; i < 500; ++i)
    EXPECT_TRUE(absl::IsUnauthenticated(begin("", a_change()).status()));
  const auto recorded = audit().size();
  EXPECT_LT(recorded, 50U);
  ASSERT_TRUE(begin("root-has-this-token", a_change()).ok());
  const auto next = audit().back();
  EXPECT_EQ(next["who"], "root");
  EXPECT_EQ(next["refusals_left_out"].get<std::size_t>() + recorded, 500U);
}

TEST_F(api_guard_test, records_a_few_refusals_of_each_caller_and_counts_the_others) {
  start();
  for (int i = 0; i < 500; ++i)
    EXPECT_TRUE(absl::IsPermissionDenied(begin("eve-has-this-token", a_change()).status()));
  const auto recorded = audit().size();
  EXPECT_GE(recorded, 5U);
  EXPECT_LT(recorded, 50U);
  ASSERT_TRUE(begin("root-has-this-token", a_change()).ok());
  EXPECT_EQ(audit().back()["refusals_left_out"].get<std::size_t>() + recorded, 500U);
}

TEST_F(api_guard_test, has_so_many_bytes_recorded_of_one_caller_and_refuses_its_changes_beyond) {
  std::ofstream(settings.callers, std::ios::app)
    << "ci submitter queues=* token=ci-has-this-token\n";
  start();
  asked_call many{api_call::remove, true, {}};
  for (int i = 0; i < 5000; ++i)
    many.objects.push_back({object_kind::workload, std::string(250, 'x')});
  absl::Status refused;
  int made = 0;
  for (; made < 100 && refused.ok(); ++made) {
    const auto call = begin("ci-has-this-token", many);
    refused = call.status();
    if (call.ok()) {
      EXPECT_FALSE(guard->end(**call, absl::NotFoundError("there are no such workloads")).ok());
    }
  }
  EXPECT_GT(made, 10);
  EXPECT_LT(made, 60);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_TRUE(is_marked_nothing_changed(refused));
  EXPECT_NE(refused.message().find("the changes of token ci take more than 1024 KiB a second"),
            absl::string_view::npos)
    << refused;
  EXPECT_EQ(audit().back()["stage"], "refused");
  EXPECT_LT(std::filesystem::file_size(settings.audit), 60U << 20U);
  EXPECT_TRUE(begin("ci-has-this-token", {api_call::get}).ok());
  const auto other = begin("root-has-this-token", a_change());
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_TRUE(guard->end(**other, absl::OkStatus()).ok());
}

TEST_F(api_guard_test, records_no_dry_run) {
  start();
  const auto call = begin("root-has-this-token", {api_call::apply, false, a_change().objects});
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_TRUE(guard->end(**call, absl::OkStatus()).ok());
  EXPECT_TRUE(audit().empty());
}

TEST_F(api_guard_test, a_token_and_a_certificate_of_one_name_are_two_callers) {
  const certificate_maker made;
  std::ofstream(settings.callers) << "admin admin token=admin-has-this-token\n";
  settings.tls.authority = made.file("ca.crt");
  settings.limits.calls_per_client = 1;
  start();
  const call_origin shows_certificate{"ipv4:10.0.0.1:99", {"", made.text("admin.crt")}, {}};
  const auto by_token = guard->enter(from("admin-has-this-token"), api_call::get);
  const auto by_certificate = guard->enter(shows_certificate, api_call::get);
  ASSERT_TRUE(by_token.ok()) << by_token.status();
  ASSERT_TRUE(by_certificate.ok()) << by_certificate.status();
  EXPECT_EQ((*by_token)->who.name, (*by_certificate)->who.name);
  EXPECT_NE((*by_token)->client, (*by_certificate)->client);
  EXPECT_TRUE(
    absl::IsResourceExhausted(guard->enter(from("admin-has-this-token"), api_call::get).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(guard->enter(shows_certificate, api_call::get).status()));
}

TEST_F(api_guard_test, takes_new_callers_from_a_file_that_changes_and_keeps_the_old_ones_else) {
  std::mutex mutex;
  std::vector<std::string> said;
  settings.say = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    said.push_back(what);
  };
  const auto wait_for = [&](std::size_t count) {
    for (int i = 0; i < 400; ++i) {
      {
        const std::lock_guard lock(mutex);
        if (said.size() >= count)
          return said.back();
      }
      std::this_thread::sleep_for(milliseconds{20});
    }
    return std::string("nothing was said");
  };
  start();
  const asked_call read{api_call::get};
  std::ofstream(settings.callers) << "max viewer token=max-has-this-token\nnonsense\n";
  EXPECT_NE(wait_for(1).find("line 2"), std::string::npos) << wait_for(1);
  EXPECT_NE(wait_for(1).find("the callers from before stay"), std::string::npos) << wait_for(1);
  EXPECT_TRUE(begin("eve-has-this-token", read).ok());
  EXPECT_FALSE(begin("max-has-this-token", read).ok());
  std::ofstream(settings.callers) << "max viewer token=max-has-this-token\n";
  EXPECT_NE(wait_for(2).find("is in use"), std::string::npos) << wait_for(2);
  EXPECT_FALSE(begin("eve-has-this-token", read).ok());
  EXPECT_TRUE(begin("max-has-this-token", read).ok());
  guard.reset();
}

TEST_F(api_guard_test, keeps_the_callers_where_their_file_names_nobody_any_more) {
  std::atomic<bool> refused = false;
  settings.say = [&](const std::string& what) {
    refused = refused || what.find(" names no caller; ") != std::string::npos;
  };
  start();
  std::ofstream(settings.callers, std::ios::trunc).close();
  for (int i = 0; i < 400 && !refused; ++i)
    std::this_thread::sleep_for(milliseconds{20});
  EXPECT_TRUE(refused);
  EXPECT_TRUE(begin("eve-has-this-token", {api_call::get}).ok());
  guard.reset();
}

TEST_F(api_guard_test, a_call_whose_body_comes_late_is_judged_by_the_callers_of_that_time) {
  std::atomic<int> in_use = 0;
  settings.say = [&](const std::string& what) {
    in_use += what.find("is in use") != std::string::npos ? 1 : 0;
  };
  std::ofstream(settings.callers, std::ios::app) << "max admin token=max-has-this-token\n"
                                                    "ann admin token=ann-has-this-token\n";
  start();
  const auto stays = guard->enter(from("root-has-this-token"), api_call::apply);
  const auto unknown = guard->enter(from("ann-has-this-token"), api_call::apply);
  const auto lowered = guard->enter(from("max-has-this-token"), api_call::apply);
  const auto reads = guard->enter(from("max-has-this-token"), api_call::get);
  const auto out = guard->enter(from("eve-has-this-token"), api_call::get);
  ASSERT_TRUE(stays.ok() && unknown.ok() && lowered.ok() && reads.ok() && out.ok());
  std::ofstream(settings.callers + ".new") << "root admin token=root-has-this-token\n"
                                              "max viewer token=max-has-this-token\n"
                                              "eve none token=eve-has-this-token\n";
  std::filesystem::rename(settings.callers + ".new", settings.callers);
  for (int i = 0; i < 400 && in_use == 0; ++i)
    std::this_thread::sleep_for(milliseconds{20});
  ASSERT_EQ(in_use, 1);
  EXPECT_TRUE(absl::IsUnauthenticated(guard->begin(**unknown, a_change())));
  EXPECT_TRUE(absl::IsPermissionDenied(guard->begin(**lowered, a_change())));
  EXPECT_TRUE(absl::IsPermissionDenied(guard->begin(**out, {api_call::get})));
  EXPECT_TRUE(guard->begin(**reads, {api_call::get}).ok());
  EXPECT_TRUE(guard->begin(**stays, a_change()).ok());
  ASSERT_EQ(audit().size(), 3U);
  EXPECT_EQ(audit()[0]["stage"], "refused");
  EXPECT_EQ(audit()[0]["who"], "ann");
  EXPECT_EQ(audit()[0]["outcome"], "UNAUTHENTICATED");
  EXPECT_EQ(audit()[1]["stage"], "refused");
  EXPECT_EQ(audit()[1]["who"], "max");
  EXPECT_EQ(audit()[1]["role"], "viewer");
  EXPECT_EQ(audit()[1]["objects"][0], "Node/n1");
  EXPECT_EQ(audit()[2]["stage"], "begun");
  guard.reset();
}

TEST_F(api_guard_test, a_call_whose_body_comes_after_its_callers_time_is_refused) {
  const auto soon =
    std::chrono::time_point_cast<duration>(std::chrono::system_clock::now()) + seconds{2};
  std::ofstream(settings.callers, std::ios::app)
    << "max admin until=" << format_time(soon) << " token=max-has-this-token\n";
  start();
  const auto call = guard->enter(from("max-has-this-token"), api_call::apply);
  ASSERT_TRUE(call.ok()) << call.status();
  std::this_thread::sleep_for(milliseconds{2100});
  const auto late = guard->begin(**call, a_change());
  EXPECT_TRUE(absl::IsUnauthenticated(late)) << late;
  EXPECT_NE(late.message().find("was good until"), absl::string_view::npos) << late;
}

TEST_F(api_guard_test, does_not_start_with_a_wrong_file) {
  std::ofstream(settings.callers) << "# nobody\n";
  EXPECT_NE(
    api_guard::make(settings).status().message().find(settings.callers + " names no caller; "),
    absl::string_view::npos);
  std::ofstream(settings.callers) << "nonsense\n";
  const auto wrong = api_guard::make(settings);
  EXPECT_NE(wrong.status().message().find(settings.callers + " line 1"), absl::string_view::npos)
    << wrong.status();
  std::filesystem::remove(settings.callers);
  EXPECT_FALSE(api_guard::make(settings).ok());
}

} // namespace

} // namespace reprieve
