#include "tests/integration/daemon.hpp"
#include "tests/support/certificate_maker.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

namespace reprieve {

namespace {

using words = std::vector<std::string>;

words operator+(words left, const words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

void write(const std::string& path, const std::string& text) {
  // Moved in place, as whoever cares for such files does.
  std::ofstream(path + ".new") << text;
  std::filesystem::rename(path + ".new", path);
}

template <class F>
bool soon(F condition) {
  for (int i = 0; i < 200; ++i) {
    if (condition())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  return false;
}

std::string a_workload(const std::string& name, const std::string& queue) {
  return "kind: Workload\nmetadata: {name: " + name + "}\nspec: {queue: " + queue
         + ", podGroups: [{name: w, template: {spec: {requests: {cpu: 1}}}}]}\n---\n";
}

/// Certificates, and a daemon that each test starts with its own options.
class security : public testing::Test {
protected:
  static const certificate_maker& ours() {
    static const certificate_maker made;
    return made;
  }

  static const certificate_maker& others() {
    static const certificate_maker made;
    return made;
  }

  void start(const words& options) {
    daemon = std::make_unique<daemon_process>(data.path(), options);
    ASSERT_TRUE(daemon->serves()) << daemon->output();
  }

  words tls_options(const std::string& certificate, const std::string& key) const {
    return {"--tls-cert", certificate, "--tls-key", key};
  }

  words our_tls() const {
    return tls_options(ours().file("server.crt"), ours().file("server.key"));
  }

  static words trusting(const certificate_maker& whom) {
    return {"--tls-ca", whom.file("ca.crt")};
  }

  static words showing(const certificate_maker& made, const std::string& name) {
    return {"--tls-cert", made.file(name + ".crt"), "--tls-key", made.file(name + ".key")};
  }

  std::string manifest(const std::string& text) const {
    const auto path = (data.path() / "manifest.yaml").string();
    std::ofstream(path) << text;
    return path;
  }

  void expect(int code, const std::string& part, const words& command) const {
    const auto result = daemon->cli(command);
    EXPECT_EQ(result.code, code) << result.output << daemon->output();
    EXPECT_NE(result.output.find(part), std::string::npos) << part << "\n" << result.output;
  }

  temporary_directory data;
  std::unique_ptr<daemon_process> daemon;
};

TEST_F(security, tls_shows_the_server_to_those_who_trust_its_authority) {
  start(our_tls());
  expect(0, "default", trusting(ours()) + words{"get", "queues"});
  expect(1, "the TLS handshake failed", trusting(others()) + words{"get", "queues"});
  expect(1, "the server may ask for TLS", {"get", "queues"});
}

TEST_F(security, with_an_authority_every_client_shows_a_certificate_of_it) {
  start(our_tls() + trusting(ours()));
  const auto apply = words{"apply", "-f", demo_manifest("1-cluster.yaml")};
  expect(0, "created", trusting(ours()) + showing(ours(), "admin") + apply);
  expect(0, "a1", trusting(ours()) + showing(ours(), "viewer") + words{"get", "nodes"});
  expect(1, "viewer (viewer) may not call Apply; that needs the role submitter, operator or admin",
         trusting(ours()) + showing(ours(), "viewer") + apply);
  expect(1, "no server answers", trusting(ours()) + words{"get", "nodes"});
  expect(1, "no server answers",
         trusting(ours()) + showing(others(), "admin") + words{"get", "nodes"});
  expect(1, "tells no role", trusting(ours()) + showing(ours(), "peer") + words{"get", "nodes"});
}

TEST_F(security, heartbeats_go_the_same_way_as_every_other_call) {
  start(our_tls() + trusting(ours()));
  const auto as_admin = trusting(ours()) + showing(ours(), "admin");
  expect(0, "created", as_admin + words{"apply", "-f", demo_manifest("1-cluster.yaml")});
  expect(0, "node/a1 heard", as_admin + words{"heartbeat", "a1"});
  expect(1, "viewer (viewer) may not call Heartbeat; that needs the role operator or admin",
         trusting(ours()) + showing(ours(), "viewer") + words{"heartbeat", "a1"});
  expect(1, "no server answers", trusting(ours()) + words{"heartbeat", "a1"});
}

TEST_F(security, describing_without_a_name_is_refused_and_harms_nobody) {
  start(our_tls() + trusting(ours()));
  const auto as_viewer = trusting(ours()) + showing(ours(), "viewer");
  for (const auto* kind : {"placement", "workload", "node", "queue"})
    expect(2, "needs the name", as_viewer + words{"describe", kind, ""});
  expect(0, "default", as_viewer + words{"get", "queues"});
}

TEST_F(security, certificates_are_followed_and_broken_ones_left_alone) {
  const auto certificate = (data.path() / "server.crt").string();
  const auto key = (data.path() / "server.key").string();
  write(certificate, ours().text("server.crt"));
  write(key, ours().text("server.key"));
  start(tls_options(certificate, key));
  const auto trusted = [&](const certificate_maker& by) {
    return daemon->cli(trusting(by) + words{"get", "queues"}).code == 0;
  };
  ASSERT_TRUE(trusted(ours()));

  write(certificate, "no certificate");
  EXPECT_TRUE(soon([&] {
    return daemon->output().find("the certificates from before stay") != std::string::npos;
  }))
    << daemon->output();
  EXPECT_TRUE(trusted(ours()));

  write(certificate, others().text("server.crt"));
  write(key, others().text("server.key"));
  EXPECT_TRUE(soon([&] { return trusted(others()); })) << daemon->output();
  EXPECT_FALSE(trusted(ours()));
}

TEST_F(security, root_is_given_up_for_a_user_where_that_is_asked_for) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can";
  const auto place =
    std::filesystem::path("/tmp") / ("reprieve-of-nobody-" + std::to_string(getpid()));
  {
    daemon_process refused(place, {"--user", "no-such-user"});
    EXPECT_FALSE(refused.serves());
    EXPECT_NE(refused.output().find("there is no user no-such-user on this machine"),
              std::string::npos)
      << refused.output();
  }
  std::filesystem::remove_all(place);
  std::filesystem::create_directory(place);
  ASSERT_EQ(chown(place.c_str(), 65534, 65534), 0);
  {
    daemon_process owned(place, {"--user", "nobody"});
    ASSERT_TRUE(owned.serves()) << owned.output();
    std::ifstream status("/proc/" + std::to_string(owned.id()) + "/status");
    const std::string text{std::istreambuf_iterator<char>(status), {}};
    EXPECT_NE(text.find("Uid:\t65534\t65534\t65534\t65534"), std::string::npos) << text;
    EXPECT_NE(text.find("CapEff:\t0000000000000000"), std::string::npos) << text;
    EXPECT_EQ(owned.cli({"get", "queues"}).code, 0);
    EXPECT_EQ(owned.stop(), 0);
  }
  std::filesystem::remove_all(place);
}

TEST_F(security, a_data_directory_that_root_makes_for_a_user_is_that_users_alone) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can";
  const auto place =
    std::filesystem::path("/tmp") / ("reprieve-made-for-nobody-" + std::to_string(getpid()));
  std::filesystem::create_directory(place);
  const auto run = [&](const std::filesystem::path& directory) {
    return std::make_unique<child_process>(
      words{REPRIEVE_BINARIES "/reprieved", "--listen", "127.0.0.1:0", "--data", directory.string(),
            "--user", "nobody", "--address-file", (directory / "address").string()},
      (data.path() / "output").string());
  };
  {
    const auto made = place / "made/"; // the slash makes no difference
    const auto alone = run(made);
    EXPECT_TRUE(soon([&] { return std::filesystem::exists(made / "address"); }))
      << file_contents((data.path() / "output").string());
    struct stat is {};
    ASSERT_EQ(stat(made.c_str(), &is), 0);
    EXPECT_EQ(is.st_uid, 65534U);
    EXPECT_EQ(is.st_mode & 07777U, 0700U);
  }
  // What a link leads to is given to nobody.
  const auto theirs = data.path() / "of-root";
  std::filesystem::create_directory(theirs);
  std::filesystem::create_symlink(theirs, place / "link");
  EXPECT_EQ(run(place / "link")->wait(std::chrono::seconds{10}), 1);
  struct stat is {};
  ASSERT_EQ(stat(theirs.c_str(), &is), 0);
  EXPECT_EQ(is.st_uid, 0U);
  std::filesystem::remove_all(place);
}

TEST_F(security, a_daemon_that_stays_root_says_so) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can";
  for (const auto& options : {words{}, words{"--user", "root"}}) {
    const temporary_directory own;
    daemon_process stays(own.path(), options);
    ASSERT_TRUE(stays.serves()) << stays.output();
    EXPECT_NE(stays.output().find("warning: it runs as root"), std::string::npos) << stays.output();
  }
}

TEST_F(security, each_role_may_do_what_it_may_and_no_more) {
  const auto tokens = (data.path() / "tokens").string();
  write(tokens, "root admin token=root-has-this-token\n"
                "ops operator token=ops-has-this-token\n"
                "ci submitter queues=models token=ci-has-this-token\n"
                "eve viewer token=eve-has-this-token\n"
                "out none token=out-has-this-token\n"
                "old admin until=2020-01-01T00:00:00Z token=old-has-this-token\n");
  start({"--tokens", tokens});
  const auto as = [&](const std::string& who, const words& command) {
    return daemon->cli(words{"--token", who + "-has-this-token"} + command);
  };
  ASSERT_EQ(as("root", {"apply", "-f", demo_manifest("1-cluster.yaml")}).code, 0);
  ASSERT_EQ(as("root", {"apply", "-f", manifest(a_workload("guest", "guests"))}).code, 0);

  const auto node = manifest("kind: Node\nmetadata: {name: n9}\nspec: {capacity: {cpu: 1}}\n");
  const auto in_models = (data.path() / "models.yaml").string();
  const auto in_guests = (data.path() / "guests.yaml").string();
  write(in_models, a_workload("job", "models"));
  write(in_guests, a_workload("job2", "guests"));
  struct row {
    words command;
    std::vector<std::string> allowed;
  };
  const std::vector<std::string> known{"root", "ops", "ci", "eve"};
  const std::vector<row> table{
    {{"get", "nodes"}, known},
    {{"describe", "queue", "models"}, known},
    {{"explain", "workload", "guest"}, known},
    {{"events"}, known},
    {{"apply", "-f", node}, {"root", "ops"}},
    {{"apply", "--dry-run", "-f", node}, {"root", "ops"}},
    {{"apply", "-f", in_models}, {"root", "ci"}},
    {{"apply", "-f", in_guests}, {"root"}},
    {{"heartbeat", "a1"}, {"root", "ops"}},
    {{"admin", "backup", (data.path() / "backup").string()}, {"root"}},
  };
  for (const auto& [command, allowed] : table)
    for (const auto* who : {"root", "ops", "ci", "eve", "out"}) {
      const auto result = as(who, command);
      const bool may = std::find(allowed.begin(), allowed.end(), who) != allowed.end();
      EXPECT_EQ(result.code, may ? 0 : 1) << who << " " << command[0] << "\n" << result.output;
      if (!may) {
        EXPECT_NE(result.output.find("may not"), std::string::npos) << result.output;
      }
    }
  // Whose queue it is in, only the cluster knows.
  const auto foreign = as("ci", {"delete", "workload", "guest"});
  EXPECT_EQ(foreign.code, 1);
  EXPECT_NE(foreign.output.find("may not delete Workload 'guest' in queue guests"),
            std::string::npos)
    << foreign.output;
  EXPECT_EQ(as("ci", {"delete", "workload", "job"}).code, 0);
  EXPECT_EQ(as("ops", {"delete", "node", "n9"}).code, 0);
  EXPECT_EQ(as("root", {"delete", "workload", "guest"}).code, 0);

  expect(1, "eve (viewer) may not call Backup; that needs the role admin",
         {"--token", "eve-has-this-token", "admin", "backup", (data.path() / "of-eve").string()});
  EXPECT_FALSE(std::filesystem::exists(data.path() / "of-eve"));

  expect(1, "the token is not known", {"--token", "nobody-has-this", "get", "nodes"});
  expect(1, "was good until", {"--token", "old-has-this-token", "get", "nodes"});
  expect(1, "show a token", {"get", "nodes"});
}

TEST_F(security, a_refusal_shows_a_terminal_nothing_that_it_would_obey) {
  start({});
  for (const auto* verb : {"get", "describe", "delete"}) {
    const auto odd = daemon->cli({verb, "node", "a\x1b[2Jb"});
    EXPECT_EQ(odd.code, 1) << verb;
    EXPECT_EQ(odd.output.find('\x1b'), std::string::npos) << verb << odd.output;
    const auto lines = daemon->cli({verb, "node", "j1\nreprieve: all is well\r"});
    EXPECT_EQ(lines.code, 1) << verb;
    EXPECT_NE(lines.output.find("j1?reprieve: all is well?"), std::string::npos)
      << verb << lines.output;
    const auto large = daemon->cli({verb, "node", std::string(100'000, 'x')});
    EXPECT_EQ(large.code, 1) << verb;
    EXPECT_NE(large.output.find("xxx"), std::string::npos) << verb << large.output;
    EXPECT_LT(large.output.size(), 8U << 10U) << verb;
  }
  for (const auto* what : {"pod", "workload", "decision"}) {
    const auto unknown = daemon->cli({"explain", what, "j1\nreprieve: all is well\r"});
    EXPECT_EQ(unknown.code, 1) << what;
    EXPECT_NE(unknown.output.find("j1?reprieve: all is well?"), std::string::npos)
      << what << unknown.output;
  }
}

TEST_F(security, what_the_daemon_writes_is_for_its_owner_alone) {
  using std::filesystem::perms;
  const auto directory = data.path() / "made" / "by-the-daemon";
  const auto address = directory / "address";
  const child_process alone({REPRIEVE_BINARIES "/reprieved", "--listen", "127.0.0.1:0", "--data",
                             directory.string(), "--address-file", address.string(), "--audit",
                             (directory / "audit.jsonl").string()},
                            (data.path() / "output").string());
  ASSERT_TRUE(soon([&] { return std::filesystem::exists(address); }));
  auto server = file_contents(address.string());
  server.pop_back();
  ASSERT_EQ(run_program({REPRIEVE_BINARIES "/reprieve", "--server", server, "apply", "-f",
                         demo_manifest("1-cluster.yaml")})
              .code,
            0);
  constexpr auto others = perms::group_all | perms::others_all;
  EXPECT_EQ(std::filesystem::status(directory).permissions() & others, perms::none);
  int files = 0;
  for (const auto& one : std::filesystem::recursive_directory_iterator{directory}) {
    EXPECT_EQ(one.status().permissions() & others, perms::none) << one.path();
    ++files;
  }
  EXPECT_GE(files, 3);
}

TEST_F(security, secrets_that_others_can_change_are_told_of) {
  const auto tokens = (data.path() / "callers").string();
  write(tokens, "root admin token=root-has-this-token\n");
  std::filesystem::permissions(tokens, std::filesystem::perms(0666));
  start({"--tokens", tokens});
  EXPECT_NE(daemon->output().find("warning: " + tokens + " can be changed by others"),
            std::string::npos)
    << daemon->output();
}

TEST_F(security, an_audit_file_that_is_a_symbolic_link_is_refused) {
  std::ofstream(data.path() / "theirs") << "as it was";
  std::filesystem::create_symlink(data.path() / "theirs", data.path() / "audit");
  daemon = std::make_unique<daemon_process>(data.path() / "fresh",
                                            words{"--audit", (data.path() / "audit").string()});
  EXPECT_FALSE(daemon->serves());
  EXPECT_NE(daemon->output().find("it is a symbolic link, which is not followed"),
            std::string::npos)
    << daemon->output();
  EXPECT_EQ(file_contents((data.path() / "theirs").string()), "as it was");
}

TEST_F(security, a_pipe_in_place_of_the_audit_file_stops_changes_and_nothing_else) {
  const auto audit = (data.path() / "audit").string();
  start({"--audit", audit});
  expect(0, "created", {"apply", "-f", manifest(a_workload("before", "default"))});
  const auto put_pipe = [&] {
    std::filesystem::remove(audit);
    ASSERT_EQ(mkfifo(audit.c_str(), 0600), 0);
  };
  put_pipe();
  const auto asked = std::chrono::steady_clock::now();
  expect(1, "it is not a regular file; nothing is changed that can't be recorded",
         {"apply", "-f", manifest(a_workload("job", "default"))});
  expect(0, "before", {"get", "workloads"});
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds{5});

  std::filesystem::remove(audit);
  expect(0, "created", {"apply", "-f", manifest(a_workload("job", "default"))});
  EXPECT_NE(file_contents(audit).find("Workload/job"), std::string::npos);

  put_pipe();
  expect(1, "it is not a regular file", {"apply", "-f", manifest(a_workload("x", "default"))});
  EXPECT_EQ(daemon->stop(), 0);
}

TEST_F(security, a_pipe_in_place_of_the_journal_of_machines_ends_the_start) {
  const auto directory = data.path() / "fresh";
  std::filesystem::create_directory(directory);
  const auto journal = (directory / "simulated-cluster.jsonl").string();
  ASSERT_EQ(mkfifo(journal.c_str(), 0600), 0);
  daemon = std::make_unique<daemon_process>(directory);
  EXPECT_FALSE(daemon->serves());
  EXPECT_NE(daemon->output().find("can't keep the journal of the machines in " + journal
                                  + ": it is not a regular file"),
            std::string::npos)
    << daemon->output();
  const auto played = run_program(
    {REPRIEVE_BINARIES "/reprieve", "machines", "--listen", "127.0.0.1:0", "--journal", journal});
  EXPECT_EQ(played.code, 1);
  EXPECT_NE(played.output.find("it is not a regular file"), std::string::npos) << played.output;
}

TEST_F(security, odd_lines_in_the_journal_of_machines_stop_nobody) {
  std::ofstream(data.path() / "simulated-cluster.jsonl")
    << "{\"uid\": 5}\n{\"uid\": \"a\", \"since\": \"yesterday\"}\n[]\nno json\n";
  start({});
  const auto file = (data.path() / "work.yaml").string();
  std::ofstream(file) << "kind: Node\nmetadata: {name: n1}\nspec: {capacity: {cpu: 4}}\n---\n"
                      << a_workload("job", "default");
  expect(0, "created", {"apply", "-f", file});
  EXPECT_TRUE(within(std::chrono::seconds{20}, [&] { return daemon->pods("job", "Running") == 1; }))
    << daemon->output();
}

TEST_F(security, a_store_that_is_a_symbolic_link_is_refused) {
  const auto directory = data.path() / "fresh";
  std::filesystem::create_directory(directory);
  std::filesystem::create_symlink(data.path() / "theirs", directory / "store.sqlite");
  daemon = std::make_unique<daemon_process>(directory);
  EXPECT_FALSE(daemon->serves());
  EXPECT_NE(daemon->output().find("is a symbolic link, which is not followed"), std::string::npos)
    << daemon->output();
  EXPECT_FALSE(std::filesystem::exists(data.path() / "theirs"));
}

TEST_F(security, a_file_of_traces_that_is_a_symbolic_link_is_refused) {
  std::ofstream(data.path() / "theirs") << "as it was";
  std::filesystem::create_symlink(data.path() / "theirs", data.path() / "trace.jsonl");
  daemon = std::make_unique<daemon_process>(data.path()); // which writes its traces there
  EXPECT_FALSE(daemon->serves());
  EXPECT_NE(daemon->output().find("it is a symbolic link, which is not followed"),
            std::string::npos)
    << daemon->output();
  EXPECT_EQ(file_contents((data.path() / "theirs").string()), "as it was");
}

TEST_F(security, tokens_are_followed_and_a_wrong_file_is_left_alone) {
  const auto tokens = (data.path() / "tokens").string();
  write(tokens, "eve viewer token=eve-has-this-token\n");
  start({"--tokens", tokens});
  const auto known = [&](const std::string& token) {
    return daemon->cli({"--token", token, "get", "nodes"}).code == 0;
  };
  ASSERT_TRUE(known("eve-has-this-token"));
  write(tokens, "# one line\nmax boss token=max-has-this-token\n");
  EXPECT_TRUE(soon([&] {
    return daemon->output().find("line 2: after the name comes the role") != std::string::npos;
  }))
    << daemon->output();
  EXPECT_TRUE(known("eve-has-this-token"));
  write(tokens, "max viewer token=max-has-this-token\n");
  EXPECT_TRUE(soon([&] { return known("max-has-this-token"); }));
  EXPECT_FALSE(known("eve-has-this-token"));
}

TEST_F(security, a_tokens_file_that_names_nobody_leaves_the_callers_as_they_are) {
  const auto tokens = (data.path() / "tokens").string();
  write(tokens, "\xEF\xBB\xBF"
                "eve viewer token=eve-has-this-token\n");
  start({"--tokens", tokens});
  const auto told = [&] {
    std::size_t count = 0;
    const auto output = daemon->output();
    for (auto at = output.find("names no caller; "); at != std::string::npos;
         at = output.find("names no caller; ", at + 1))
      ++count;
    return count;
  };
  std::size_t expected = 0;
  for (const auto* text : {"", "# nobody is left\n \t\r\n"}) {
    std::ofstream(tokens, std::ios::trunc) << text; // in place, as an editor that is cut off does
    ++expected;
    EXPECT_TRUE(soon([&] { return told() == expected; })) << daemon->output();
    expect(0, "", {"--token", "eve-has-this-token", "get", "nodes"});
  }
  write(tokens, "max viewer token=max-has-this-token\n");
  EXPECT_TRUE(soon([&] {
    return daemon->cli({"--token", "max-has-this-token", "get", "nodes"}).code == 0;
  }));
}

TEST_F(security, a_stream_ends_with_a_sentence_when_its_token_is_withdrawn) {
  const auto tokens = (data.path() / "tokens").string();
  const std::string max = "max operator token=max-has-this-token\n";
  write(tokens, max + "eve viewer token=eve-has-this-token\n");
  start({"--tokens", tokens});
  expect(0, "created",
         {"--token", "max-has-this-token", "apply", "-f", demo_manifest("1-cluster.yaml")});
  const auto watch = [&](const std::string& token, const std::string& output) {
    return std::make_unique<child_process>(words{REPRIEVE_BINARIES "/reprieve", "--server",
                                                 daemon->address(), "--token", token, "events",
                                                 "--watch"},
                                           output);
  };
  const auto of_eve = (data.path() / "of-eve").string();
  const auto of_max = (data.path() / "of-max").string();
  const auto eve = watch("eve-has-this-token", of_eve);
  const auto other = watch("max-has-this-token", of_max);
  // Both see that a node is heard of for the first time and lost, so they are open.
  expect(0, "", {"--token", "max-has-this-token", "heartbeat", "a1"});
  std::this_thread::sleep_for(std::chrono::milliseconds{500});
  EXPECT_TRUE(eve->running()) << file_contents(of_eve);
  write(tokens, max);
  EXPECT_EQ(eve->wait(std::chrono::seconds{10}), 1) << file_contents(of_eve);
  EXPECT_NE(file_contents(of_eve).find("eve may not have this stream any more"), std::string::npos)
    << file_contents(of_eve);
  EXPECT_NE(file_contents(of_eve).find("the token is not known"), std::string::npos)
    << file_contents(of_eve);
  EXPECT_TRUE(other->running()) << file_contents(of_max);
  // Nor does one stay that may not do any more what its stream is for.
  child_process agent({REPRIEVE_BINARIES "/reprieve", "--server", daemon->address(), "--token",
                       "max-has-this-token", "heartbeat", "a1", "--every", "100ms"},
                      (data.path() / "agent").string());
  EXPECT_TRUE(soon([&] { return !file_contents((data.path() / "agent").string()).empty(); }));
  write(tokens, "max none token=max-has-this-token\n");
  EXPECT_EQ(other->wait(std::chrono::seconds{10}), 1) << file_contents(of_max);
  EXPECT_EQ(agent.wait(std::chrono::seconds{10}), 1);
}

TEST_F(security, a_token_comes_from_a_file_or_the_environment) {
  const auto tokens = (data.path() / "tokens").string();
  write(tokens, "eve viewer token=eve-has-this-token\n");
  start({"--tokens", tokens});
  const auto file = (data.path() / "mine").string();
  write(file, "eve-has-this-token\n");
  expect(0, "", {"--token-file", file, "get", "nodes"});
  ::setenv("REPRIEVE_TOKEN", "eve-has-this-token", 1);
  expect(0, "", {"get", "nodes"});
  ::unsetenv("REPRIEVE_TOKEN");
  expect(2, "can't be read", {"--token-file", "/nowhere", "get", "nodes"});
}

TEST_F(security, a_client_sends_no_token_in_the_clear_to_another_machine) {
  const auto result = run_program({REPRIEVE_BINARIES "/reprieve", "--server", "192.0.2.1:7420",
                                   "--token", "eve-has-this-token", "get", "nodes"});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.output.find("others can read it"), std::string::npos) << result.output;
}

TEST_F(security, nothing_listens_beyond_this_machine_unless_told_to) {
  const auto tokens = (data.path() / "tokens").string();
  write(tokens, "eve viewer token=eve-has-this-token\n");
  // An address that this machine does not have: nothing would be open even if it were tried.
  for (const auto& options :
       {words{}, words{"--tokens", tokens}, our_tls(), words{"--tls-ca", ours().file("ca.crt")}}) {
    const temporary_directory own;
    daemon_process open(own.path(), options + words{"--listen", "192.0.2.1:0"});
    EXPECT_FALSE(open.serves());
    EXPECT_NE(open.output().find("--insecure"), std::string::npos) << open.output();
  }
  const temporary_directory own;
  daemon_process told(own.path(), {"--insecure", "--listen", "192.0.2.1:0"});
  EXPECT_FALSE(told.serves());
  EXPECT_NE(told.output().find("can't listen on 192.0.2.1:0"), std::string::npos) << told.output();
}

TEST_F(security, a_request_that_is_too_large_is_refused) {
  start({"--message-bytes", "4096"});
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += a_workload("w" + std::to_string(i), "default");
  expect(1, "raise --message-bytes", {"apply", "-f", manifest(many)});
  expect(0, "created", {"apply", "-f", manifest(a_workload("w", "default"))});
}

TEST_F(security, a_client_has_no_more_watches_than_it_may) {
  start({"--streams-per-client", "1"});
  expect(0, "created", {"apply", "-f", demo_manifest("1-cluster.yaml")});
  expect(0, "created", {"apply", "-f", demo_manifest("2-work.yaml")});
  const auto watched = (data.path() / "watched").string();
  {
    child_process watching(
      {REPRIEVE_BINARIES "/reprieve", "--server", daemon->address(), "events", "--watch"}, watched);
    // It sees this, so it is open.
    EXPECT_TRUE(soon([&] { return !file_contents(watched).empty(); }));
    expect(1, "raise --streams-per-client", {"events"});
    expect(1, "raise --streams-per-client", {"heartbeat", "a1"});
  }
  EXPECT_TRUE(soon([&] { return daemon->cli({"events"}).code == 0; }));
}

TEST_F(security, a_client_makes_no_more_requests_than_it_may) {
  start({"--requests-per-second", "2"});
  run_result last;
  EXPECT_TRUE(soon([&] {
    last = daemon->cli({"get", "queues"});
    return last.code != 0;
  }));
  EXPECT_NE(last.output.find("makes more than 2 requests a second; wait "), std::string::npos)
    << last.output;
  std::this_thread::sleep_for(std::chrono::seconds{1});
  expect(0, "default", {"get", "queues"});
}

TEST_F(security, a_queue_has_no_more_workloads_than_it_may) {
  start({"--workloads-per-queue", "2"});
  const auto two = a_workload("a", "default") + a_workload("b", "default");
  const auto third = a_workload("c", "default");
  expect(2, "so 3 more is too many", {"apply", "-f", manifest(two + third)});
  expect(0, "created", {"apply", "-f", manifest(two)});
  expect(2, "which has 2 workloads and may have 2", {"apply", "-f", manifest(third)});
  expect(0, "unchanged", {"apply", "-f", manifest(two)});
  expect(0, "deleted", {"delete", "workload", "a"});
  EXPECT_TRUE(soon([&] { return daemon->cli({"apply", "-f", manifest(third)}).code == 0; }));
}

TEST_F(security, every_changing_call_is_recorded_with_who_what_and_how_it_ended) {
  const auto tokens = (data.path() / "tokens").string();
  const auto audit = (data.path() / "audit.jsonl").string();
  write(tokens, "root admin token=root-has-this-token\neve viewer token=eve-has-this-token\n");
  start({"--tokens", tokens, "--audit", audit});
  const words root{"--token", "root-has-this-token"};
  const auto one = manifest(a_workload("job", "default"));
  expect(0, "created", root + words{"apply", "-f", one});
  expect(0, "unchanged", root + words{"apply", "--dry-run", "-f", one});
  expect(0, "job", root + words{"get", "workloads"});
  expect(1, "may not", {"--token", "eve-has-this-token", "delete", "workload", "job"});
  expect(0, "deleted", root + words{"delete", "workload", "job"});
  expect(1, "there is no", root + words{"delete", "workload", "nobody"});
  // Not recorded: these come all the time, and change nothing that anybody asked for.
  expect(1, "there is no node", root + words{"heartbeat", "n1"});
  expect(1, "may not call Heartbeat", {"--token", "eve-has-this-token", "heartbeat", "n1"});

  std::vector<std::string> told;
  std::istringstream lines(file_contents(audit));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(record.is_object()) << line;
    const auto& objects = record["objects"];
    told.push_back(record["who"].get<std::string>() + " " + record["call"].get<std::string>() + " "
                   + (objects.empty() ? "" : objects[0].get<std::string>()) + " "
                   + record["stage"].get<std::string>() + " "
                   + record["outcome"].get<std::string>());
    EXPECT_TRUE(record["from"].get<std::string>().starts_with("ipv4:127.0.0.1:")) << line;
    EXPECT_EQ(record["trace_id"].get<std::string>().size(), 32U) << line;
    EXPECT_FALSE(record["time"].get<std::string>().empty()) << line;
  }
  const std::vector<std::string> expected{
    "root Apply Workload/job begun ",        "root Apply Workload/job ended OK",
    "eve Delete  refused PERMISSION_DENIED", // of which nothing was read
    "root Delete Workload/job begun ",       "root Delete Workload/job ended OK",
    "root Delete Workload/nobody begun ",    "root Delete Workload/nobody ended NOT_FOUND"};
  EXPECT_EQ(told, expected);
}

TEST_F(security, a_caller_fills_no_audit_file_with_what_it_may_not_do) {
  const auto tokens = (data.path() / "tokens").string();
  const auto audit = (data.path() / "audit.jsonl").string();
  write(tokens, "root admin token=root-has-this-token\neve viewer token=eve-has-this-token\n");
  start({"--tokens", tokens, "--audit", audit});
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 60; ++i)
    ASSERT_EQ(daemon->cli({"--token", "eve-has-this-token", "delete", "workload", "job"}).code, 1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  expect(0, "created",
         {"--token", "root-has-this-token", "apply", "-f", manifest(a_workload("job", "default"))});
  std::istringstream lines(file_contents(audit));
  int refused = 0;
  int left_out = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line, nullptr, false);
    refused += record["stage"] == "refused" ? 1 : 0;
    left_out += record.value("refusals_left_out", 0);
  }
  EXPECT_LE(refused, 10 + 5 * took.count() + 1);
  EXPECT_EQ(refused + left_out, 60);
}

TEST_F(security, what_can_not_be_recorded_is_not_done) {
  start({"--audit", "/dev/full"});
  expect(1, "nothing is changed that can't be recorded",
         {"apply", "-f", manifest(a_workload("job", "default"))});
  const auto shown = daemon->cli({"get", "workloads"});
  EXPECT_EQ(shown.code, 0) << shown.output;
  EXPECT_EQ(shown.output.find("job"), std::string::npos) << shown.output;
}

TEST_F(security, a_daemon_does_not_start_with_files_it_can_not_use) {
  for (const auto& [options, part] : std::vector<std::pair<words, std::string>>{
         {{"--tokens", "/nowhere"}, "/nowhere can't be read"},
         {{"--tokens", "/dev/null"}, "/dev/null names no caller"},
         {{"--audit", "/nowhere/audit"}, "/nowhere/audit can't be written"},
         {{"--tls-ca", ours().file("ca.crt")}, "give --tls-cert and --tls-key"},
         {tls_options(ours().file("server.crt"), ours().file("admin.key")),
          "the key is not that of the certificate"}}) {
    const temporary_directory own;
    daemon_process wrong(own.path(), options);
    EXPECT_FALSE(wrong.serves());
    EXPECT_NE(wrong.output().find(part), std::string::npos) << wrong.output();
  }
}

} // namespace

} // namespace reprieve
