// Users, passwords and certificates; set up with the tools that come with etcd and OpenSSL.

#include "tests/stores/etcd_stores.hpp"
#include "tests/stores/waiting.hpp"
#include "tests/support/etcd_process.hpp"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace reprieve {

namespace {

bool run(const std::string& command) {
  return std::system((command + " > /dev/null 2>&1").c_str()) == 0;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A certificate authority, and what it signed for etcd and for us.
class certificates {
public:
  /// Makes all of it, or replaces all of it by new ones.
  bool make() const {
    return run(request("ca", "-x509 -days 2 -subj /CN=authority")) && sign("server")
           && sign("client");
  }

  std::string file(const std::string& name) const {
    return (directory_.path() / name).string();
  }

  /// The options of an etcd that shows these, and talks to nobody else.
  std::vector<std::string> for_etcd() const {
    return {"--cert-file=" + file("server.crt"), "--key-file=" + file("server.key"),
            "--client-cert-auth", "--trusted-ca-file=" + file("ca.crt")};
  }

  etcd_tls for_us() const {
    return {contents(file("ca.crt")), contents(file("client.crt")), contents(file("client.key"))};
  }

private:
  std::string request(const std::string& name, const std::string& rest) const {
    return "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "
           + file(name + ".key") + " -out " + file(name + ".crt") + " " + rest;
  }

  bool sign(const std::string& name) const {
    std::ofstream(file("names")) << "subjectAltName=IP:127.0.0.1";
    return run(request(name, "-subj /CN=" + name))
           && run("openssl x509 -req -days 2 -CAcreateserial -CA " + file("ca.crt") + " -CAkey "
                  + file("ca.key") + " -extfile " + file("names") + " -in " + file(name + ".crt")
                  + " -out " + file(name + ".crt"));
  }

  temporary_directory directory_;
};

template <class Store>
class etcd_access : public testing::Test {};

TYPED_TEST_SUITE(etcd_access, etcd_stores, etcd_store_names);

} // namespace

TYPED_TEST(etcd_access, works_with_certificates_on_both_sides) {
  const certificates made;
  if (!etcd_process::available() || !made.make())
    GTEST_SKIP() << "needs etcd and openssl";
  const etcd_process etcd(made.for_etcd(), "https");
  etcd_options options{.endpoints = {etcd.endpoint()}, .call_timeout = 2s, .tls = made.for_us()};
  auto store = *TypeParam::open(options);
  const auto written = commit(*store, {put{"a", "1"}});
  EXPECT_TRUE(written.ok()) << written.status();

  options.tls->certificate.clear();
  options.tls->key.clear();
  auto stranger = *TypeParam::open(options);
  EXPECT_FALSE(commit(*stranger, {put{"a", "2"}}).ok());
  options.tls.reset();
  auto plain = *TypeParam::open(options);
  EXPECT_FALSE(commit(*plain, {put{"a", "3"}}).ok());
  EXPECT_EQ(value_of(*store, "a"), "1");
}

TYPED_TEST(etcd_access, goes_on_with_new_certificates_under_another_authority) {
  const certificates made;
  if (!etcd_process::available() || !made.make())
    GTEST_SKIP() << "needs etcd and openssl";
  etcd_process etcd(made.for_etcd(), "https");
  auto store =
    *TypeParam::open({.endpoints = {etcd.endpoint()}, .call_timeout = 2s, .tls = made.for_us()});
  std::atomic<int> lost = 0;
  const auto lease = grant(*store, 20s, [&] { ++lost; });
  ASSERT_TRUE(lease.ok()) << lease.status();
  const auto first = commit(*store, {put{"a", "1"}, put{"leased", "1", *lease}});
  ASSERT_TRUE(first.ok()) << first.status();
  watch_log log;
  const auto watch = store->watch(just("a"), first->current, log.callback());
  EXPECT_EQ(log.changes(1), "+a=1@" + std::to_string(first->current));

  ASSERT_TRUE(made.make());
  etcd.kill();
  etcd.start();
  absl::StatusOr<transaction_result> second;
  EXPECT_TRUE(eventually([&] { // the connection may first have to be found broken
    second = commit(*store, {put{"b", "refused"}});
    return absl::IsUnavailable(second.status());
  }))
    << second.status();
  EXPECT_FALSE(store->use({.certificate = "without its key"}).ok());
  ASSERT_TRUE(store->use(made.for_us()).ok());
  second = commit(*store, {put{"a", "2"}});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(log.changes(2),
            "+a=1@" + std::to_string(first->current) + " +a=2@" + std::to_string(second->current));
  EXPECT_EQ(value_of(*store, "leased"), "1");
  EXPECT_TRUE(revoke(*store, *lease).ok());
  EXPECT_EQ(lost, 0);
}

TYPED_TEST(etcd_access, works_with_a_user_whose_token_is_renewed) {
  if (!etcd_process::available())
    GTEST_SKIP() << "no etcd on this machine";
  etcd_process etcd;
  const auto control = "ETCDCTL_API=3 etcdctl --endpoints=" + etcd.endpoint() + " ";
  if (!run(control + "user add root:secret") || !run(control + "role add root")
      || !run(control + "user grant-role root root") || !run(control + "auth enable"))
    GTEST_SKIP() << "needs etcdctl";
  etcd_options options{.endpoints = {etcd.endpoint()}, .user = "root", .password = "secret"};
  auto store = *TypeParam::open(options);
  const auto first = commit(*store, {put{"a", "1"}});
  ASSERT_TRUE(first.ok()) << first.status();
  watch_log log;
  const auto watch = store->watch(just("a"), first->current, log.callback());
  EXPECT_EQ(log.changes(1), "+a=1@" + std::to_string(first->current));
  EXPECT_TRUE(grant(*store, 5s).ok());

  etcd.kill();
  etcd.start(); // knows no token any more
  absl::StatusOr<transaction_result> second;
  EXPECT_TRUE(eventually([&] {
    second = commit(*store, {put{"a", "2"}});
    return second.ok();
  }))
    << second.status();
  EXPECT_NE(log.changes(2).find("+a=2"), std::string::npos);

  ASSERT_TRUE(eventually([&] { // a slow machine may keep etcdctl from seeing that it worked
    return run("echo changed | " + control
               + "--user=root:secret user passwd root --interactive=false")
           || run(control + "--user=root:changed user list");
  }));
  EXPECT_FALSE(commit(*store, {put{"a", "3"}}).ok());
  store->use_password("changed");
  const auto third = commit(*store, {put{"a", "3"}});
  EXPECT_TRUE(third.ok()) << third.status();

  options.password = "wrong";
  auto stranger = *TypeParam::open(options);
  const auto refused = commit(*stranger, {put{"a", "4"}});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnauthenticated) << refused.status();
  options.user.clear();
  options.password.clear();
  auto nobody = *TypeParam::open(options);
  const auto unnamed = commit(*nobody, {put{"a", "5"}});
  EXPECT_FALSE(unnamed.ok());
  EXPECT_NE(unnamed.status().code(), absl::StatusCode::kUnknown) << unnamed.status();
}

} // namespace reprieve
