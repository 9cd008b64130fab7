// The daemon with its state in a real etcd.

#include "tests/integration/daemon.hpp"
#include "tests/support/certificate_maker.hpp"
#include "tests/support/etcd_process.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace reprieve {

namespace {

using words = std::vector<std::string>;
using std::chrono::seconds;

words operator+(words left, const words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

words etcd_clients() {
#ifdef REPRIEVE_ETCD_CPP_APIV3
  return {"direct", "etcd-cpp-apiv3"};
#else
  return {"direct"};
#endif
}

/// On each way of speaking to etcd that is built in.
class daemon_on_etcd : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!etcd_process::available())
      GTEST_SKIP() << "no etcd on this machine";
  }

  words on(const etcd_process& etcd) const {
    return {"--etcd", etcd.endpoint(), "--etcd-client", GetParam()};
  }

  temporary_directory data;
};

/// Whether the daemon takes a queue of this name, so that it reads and writes.
bool takes_queue(const daemon_process& daemon, const std::filesystem::path& in,
                 const std::string& name) {
  const auto file = (in / "queue.yaml").string();
  std::ofstream(file) << "kind: Queue\nmetadata: {name: " << name << "}\n";
  return daemon.cli({"apply", "-f", file}).code == 0
         && daemon.cli({"get", "queue", name}).code == 0;
}

} // namespace

TEST_P(daemon_on_etcd, has_etcd_forget_what_is_older_than_it_is_told_to_keep) {
  if (GetParam() != "direct")
    GTEST_SKIP() << "the library has no call for it";
  const etcd_process etcd;
  const auto at_the_start = [&] {
    return run_program({"/usr/bin/env", "ETCDCTL_API=3", "etcdctl", "--endpoints", etcd.endpoint(),
                        "get", "/reprieve/meta/schema", "--rev=2"})
      .output;
  };
  const auto is_forgotten = [&] {
    return at_the_start().find("required revision has been compacted") != std::string::npos;
  };
  {
    daemon_process daemon(data.path(), on(etcd) + words{"--etcd-history", "0"});
    ASSERT_TRUE(daemon.serves()) << daemon.output();
    ASSERT_TRUE(takes_queue(daemon, data.path(), "one"));
    std::this_thread::sleep_for(seconds{3});
    EXPECT_FALSE(is_forgotten()) << "that was left to others";
    EXPECT_EQ(daemon.stop(), 0) << daemon.output();
  }
  daemon_process daemon(data.path(), on(etcd) + words{"--etcd-history", "2"});
  ASSERT_TRUE(daemon.serves()) << daemon.output();
  EXPECT_FALSE(is_forgotten()) << "it is not known yet how old that is";
  EXPECT_TRUE(within(seconds{20}, is_forgotten)) << at_the_start() << daemon.output();
  EXPECT_TRUE(takes_queue(daemon, data.path(), "two")) << daemon.output();
  EXPECT_EQ(daemon.cli({"get", "queue", "one"}).code, 0) << daemon.output();
}

TEST_P(daemon_on_etcd, loses_nothing_when_it_is_killed) {
  const etcd_process etcd;
  {
    daemon_process daemon(data.path(), on(etcd));
    ASSERT_TRUE(daemon.serves()) << daemon.output();
    ASSERT_EQ(daemon.cli({"apply", "-f", demo_manifest("1-cluster.yaml")}).code, 0);
    ASSERT_EQ(daemon.cli({"apply", "-f", demo_manifest("2-work.yaml")}).code, 0);
    daemon.kill();
  }
  EXPECT_FALSE(std::filesystem::exists(data.path() / "store.sqlite"));
  daemon_process daemon(data.path(), on(etcd));
  ASSERT_TRUE(daemon.serves()) << daemon.output();
  for (const auto* name : {"train-large", "train-small", "notebook"})
    EXPECT_EQ(daemon.cli({"get", "workload", name}).code, 0) << name << daemon.output();
  EXPECT_TRUE(within(seconds{20}, [&] { return daemon.pods("train-large", "Running") == 4; }))
    << daemon.output();
  EXPECT_EQ(daemon.stop(), 0) << daemon.output();
}

TEST_P(daemon_on_etcd, keeps_to_its_prefix) {
  const etcd_process etcd;
  const temporary_directory other_data;
  daemon_process one(data.path(), on(etcd) + words{"--etcd-prefix", "/one/"});
  daemon_process other(other_data.path(), on(etcd) + words{"--etcd-prefix", "/other/"});
  ASSERT_TRUE(one.serves()) << one.output();
  ASSERT_TRUE(other.serves()) << other.output();
  ASSERT_EQ(one.cli({"apply", "-f", demo_manifest("1-cluster.yaml")}).code, 0);
  EXPECT_EQ(one.cli({"get", "node", "a1"}).code, 0);
  EXPECT_EQ(other.cli({"get", "node", "a1"}).code, 1);
}

TEST_P(daemon_on_etcd, follows_the_files_of_its_certificates) {
  const certificate_maker made;
  etcd_process etcd({"--cert-file=" + made.file("peer.crt"), "--key-file=" + made.file("peer.key"),
                     "--client-cert-auth", "--trusted-ca-file=" + made.file("ca.crt")},
                    "https");
  daemon_process daemon(data.path(),
                        on(etcd)
                          + words{"--etcd-ca", made.file("ca.crt"), "--etcd-cert",
                                  made.file("admin.crt"), "--etcd-key", made.file("admin.key")});
  ASSERT_TRUE(daemon.serves()) << daemon.output();
  ASSERT_TRUE(takes_queue(daemon, data.path(), "before"));

  std::ofstream(made.file("admin.crt")) << "no certificate";
  EXPECT_TRUE(within(seconds{10},
                     [&] {
                       return daemon.output().find("what was there before stays in use")
                              != std::string::npos;
                     }))
    << daemon.output();
  EXPECT_TRUE(takes_queue(daemon, data.path(), "meanwhile"));

  for (const auto* name : {"ca", "peer", "admin", "server", "viewer"})
    for (const auto* part : {".crt", ".key"})
      made.remove(std::string(name) + part);
  ASSERT_EQ(made.make({}).code, 0);
  etcd.kill();
  etcd.start(); // under the new authority
  EXPECT_TRUE(within(seconds{20}, [&] { return takes_queue(daemon, data.path(), "after"); }))
    << daemon.output();
  EXPECT_NE(daemon.output().find("the certificates for etcd have changed"), std::string::npos);
  EXPECT_EQ(daemon.stop(), 0) << daemon.output();
}

TEST_P(daemon_on_etcd, logs_in_with_the_password_in_its_file) {
  const etcd_process etcd;
  const auto control =
    words{"/usr/bin/env", "ETCDCTL_API=3", "etcdctl", "--endpoints=" + etcd.endpoint()};
  for (const auto& step : {words{"user", "add", "root:secret"}, words{"role", "add", "root"},
                           words{"user", "grant-role", "root", "root"}, words{"auth", "enable"}})
    if (run_program(control + step).code != 0)
      GTEST_SKIP() << "needs etcdctl";
  const auto file = (data.path() / "password").string();
  const auto as_root = on(etcd) + words{"--etcd-user", "root", "--etcd-password-file", file};
  std::ofstream(file) << "wrong\n";
  daemon_process stranger(data.path(), as_root);
  EXPECT_FALSE(stranger.serves());
  EXPECT_NE(stranger.output().find("(--etcd) can't be used"), std::string::npos)
    << stranger.output();
  std::ofstream(file) << "secret\n";
  daemon_process daemon(data.path(), as_root);
  ASSERT_TRUE(daemon.serves()) << daemon.output();
  EXPECT_TRUE(takes_queue(daemon, data.path(), "mine"));
}

INSTANTIATE_TEST_SUITE_P(, daemon_on_etcd, testing::ValuesIn(etcd_clients()),
                         [](const auto& client) {
                           return client.param == "direct" ? "direct" : "library";
                         });

TEST(options_of_the_store, that_cannot_work_are_refused_with_what_would) {
  const certificate_maker made;
  const temporary_directory data;
  const auto file = [&](const std::string& name, const std::string& text) {
    std::ofstream(data.path() / name) << text;
    return (data.path() / name).string();
  };
  const auto empty = file("empty", "\n");
  const auto password = file("password", "secret\n");
  const auto etcd = words{"--etcd", "127.0.0.1:1"};
  struct {
    words options;
    std::string said;
  } const cases[] = {
    {{"--etcd-ca", made.file("ca.crt")}, "--etcd-ca is of use with etcd only; give its address"},
    {{"--etcd-user", "root"}, "--etcd-user is of use with etcd only"},
    {{"--etcd-history", "60"}, "--etcd-history is of use with etcd only"},
    {{"--etcd", "http://127.0.0.1:1"}, "the etcd endpoint 'http://127.0.0.1:1' must be host:port"},
    {{"--etcd", "127.0.0.1:1,nowhere"}, "the etcd endpoint 'nowhere' must be host:port"},
    {etcd + words{"--etcd-prefix", std::string(1000, 'x')}, "the etcd prefix takes at most"},
    {etcd + words{"--etcd-ca", "/no/such/file"}, "/no/such/file can't be read: No such file"},
    {etcd + words{"--etcd-ca", empty}, empty},
    {etcd + words{"--etcd-cert", made.file("admin.crt")}, "a certificate needs its key; give both"},
    {etcd + words{"--etcd-key", made.file("admin.key")}, "a key needs its certificate; give both"},
    {etcd + words{"--etcd-cert", made.file("admin.crt"), "--etcd-key", made.file("viewer.key")},
     made.file("admin.crt") + " with " + made.file("viewer.key")},
    {etcd + words{"--etcd-user", "root"}, "give both --etcd-user and --etcd-password-file"},
    {etcd + words{"--etcd-password-file", password}, "give both --etcd-user and"},
    {etcd + words{"--etcd-user", "root", "--etcd-password-file", "/no/such/file"},
     "/no/such/file can't be read"},
    {etcd + words{"--etcd-user", "root", "--etcd-password-file", empty},
     "has no password for etcd's user in its first line"},
    {{"--etcd", "etcd.example:1", "--etcd-user", "root", "--etcd-password-file", password},
     "would go to etcd.example:1 unencrypted; give --etcd-ca"},
    {etcd, "the store at 127.0.0.1:1 (--etcd) can't be used: etcd: failed to connect"},
#ifndef REPRIEVE_ETCD_CPP_APIV3
    {etcd + words{"--etcd-client", "etcd-cpp-apiv3"}, "build it with -DREPRIEVE_ETCD_CPP_APIV3=ON"},
#endif
  };
  for (const auto& [options, said] : cases) {
    const auto result = run_program(words{REPRIEVE_BINARIES "/reprieved", "--data",
                                          data.path().string(), "--listen", "127.0.0.1:0"}
                                    + options);
    EXPECT_EQ(result.code, 1) << options.back() << "\n" << result.output;
    EXPECT_NE(result.output.find(said), std::string::npos) << said << "\n" << result.output;
  }
}

} // namespace reprieve
