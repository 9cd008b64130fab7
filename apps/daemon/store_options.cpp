#include "apps/daemon/store_options.hpp"

#include "protocol/access/listen_address.hpp"
#include "state/records/keys.hpp"
#include "state/store/etcd/etcd_store.hpp"
#include "state/store/sqlite/sqlite_store.hpp"
#ifdef REPRIEVE_ETCD_CPP_APIV3
#include "state/store/etcd_cpp/etcd_cpp_store.hpp"
#endif

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <future>
#include <thread>
#include <utility>

namespace reprieve {

namespace {

using sayer = std::function<void(const std::string&)>;

constexpr const char* direct = "direct";
constexpr const char* library = "etcd-cpp-apiv3";

absl::Status about(std::string_view what, const absl::Status& why) {
  return {why.code(), fmt::format("{}: {}", what, std::string(why.message()))};
}

/// The first option that is about etcd and of no use without it; null where there is none.
const char* option_without_etcd(const store_options& options) {
  for (const auto& [name, value] :
       {std::pair{"--etcd-prefix", &options.prefix}, std::pair{"--etcd-ca", &options.tls.authority},
        std::pair{"--etcd-cert", &options.tls.certificate},
        std::pair{"--etcd-key", &options.tls.key}, std::pair{"--etcd-user", &options.user},
        std::pair{"--etcd-password-file", &options.password_file}})
    if (!value->empty())
      return name;
  if (options.history_seconds != store_options{}.history_seconds)
    return "--etcd-history";
  return options.client == direct ? nullptr : "--etcd-client";
}

absl::Status check_user(const store_options& options) {
  if (options.user.empty() != options.password_file.empty())
    return absl::InvalidArgumentError(
      "a user of etcd needs a password, and a password its user; give both --etcd-user and "
      "--etcd-password-file");
  if (!options.user.empty() && options.tls.empty())
    for (const auto& endpoint : options.etcd)
      if (!is_local(endpoint))
        return absl::InvalidArgumentError(
          fmt::format("the password of etcd's user '{}' would go to {} unencrypted; give --etcd-ca "
                      "with the authority of etcd's certificate",
                      options.user, endpoint));
  return absl::OkStatus();
}

absl::StatusOr<etcd_tls> read_etcd_tls(const tls_files& files) {
  auto read = read_tls(files);
  if (!read.ok())
    return about("the certificates for etcd", read.status());
  return etcd_tls{std::move(read->authority), std::move(read->certificate), std::move(read->key)};
}

/// The first line of the file.
absl::StatusOr<std::string> read_password(const std::string& file) {
  auto read = read_small_file(file);
  if (!read.ok())
    return about("the password of etcd's user", read.status());
  auto password = read->substr(0, read->find_first_of("\r\n"));
  if (password.empty())
    return absl::InvalidArgumentError(
      fmt::format("{} has no password for etcd's user in its first line", file));
  return password;
}

absl::StatusOr<etcd_options> etcd_options_of(const store_options& options) {
  if (auto checked = check_user(options); !checked.ok())
    return checked;
  etcd_options made{.endpoints = options.etcd};
  made.call_timeout = options.call_timeout;
  if (!options.prefix.empty())
    made.prefix = options.prefix;
  if (!options.tls.empty()) {
    auto tls = read_etcd_tls(options.tls);
    if (!tls.ok())
      return tls.status();
    made.tls = *std::move(tls);
  }
  if (!options.user.empty()) {
    auto password = read_password(options.password_file);
    if (!password.ok())
      return password.status();
    made.user = options.user;
    made.password = *std::move(password);
  }
  return made;
}

absl::Status read_once(store& opened) {
  auto answer = std::make_shared<std::promise<absl::Status>>();
  opened.read(
    {.range = just(std::string(keys::schema))},
    [answer](const absl::StatusOr<range_result>& found) { answer->set_value(found.status()); });
  return answer->get_future().get();
}

/// Whether etcd answers at all, so that whoever starts the daemon learns it soon. One that has no
/// leader at present has one in a moment; until then it refuses a read, or lets it time out.
absl::Status try_out(store& opened, const std::vector<std::string>& endpoints, const sayer& say) {
  constexpr std::chrono::seconds patience{30};
  constexpr std::chrono::milliseconds pause{200};
  const auto named = fmt::format("the store at {} (--etcd)", fmt::join(endpoints, ", "));
  const auto end = std::chrono::steady_clock::now() + patience;
  auto status = read_once(opened);
  if (absl::IsUnavailable(status))
    say(fmt::format("waiting up to {} s for {}: {}", patience.count(), named,
                    std::string(status.message())));
  while (absl::IsUnavailable(status) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(pause);
    status = read_once(opened);
  }
  return status.ok() ? status : about(fmt::format("{} can't be used", named), status);
}

/// Calls `renew` with the store whenever the files have changed, as long as the store is there;
/// `news` says that it worked.
template <class Store, class Renew>
void follow(const std::shared_ptr<Store>& opened, std::vector<std::string> paths, file_watch& files,
            const sayer& say, const std::string& news, Renew renew) {
  files.add(std::move(paths), [weak = std::weak_ptr(opened), renew, say, news] {
    const auto there = weak.lock();
    if (!there)
      return;
    const auto renewed = renew(*there);
    say(renewed.ok()
          ? news
          : fmt::format("{}; what was there before stays in use", std::string(renewed.message())));
  });
  (void)renew(*opened); // for what changed between the first reading and now
}

template <class Store>
absl::StatusOr<std::shared_ptr<store>> open_etcd(const store_options& options, file_watch& files,
                                                 const sayer& say) {
  auto wanted = etcd_options_of(options);
  if (!wanted.ok())
    return wanted.status();
  auto made = Store::open(*std::move(wanted));
  if (!made.ok())
    return made.status();
  const std::shared_ptr<Store> opened = *std::move(made);
  if (!options.tls.empty())
    follow(opened, {options.tls.certificate, options.tls.key, options.tls.authority}, files, say,
           "the certificates for etcd have changed and are in use for new connections",
           [from = options.tls](Store& to) {
             auto tls = read_etcd_tls(from);
             return tls.ok() ? to.use(*std::move(tls)) : tls.status();
           });
  if (!options.user.empty())
    follow(opened, {options.password_file}, files, say,
           "the password of etcd's user has changed and is in use",
           [from = options.password_file](Store& to) {
             auto password = read_password(from);
             if (password.ok())
               to.use_password(*password);
             return password.status();
           });
  if (auto tried = try_out(*opened, options.etcd, say); !tried.ok())
    return tried;
  return opened;
}

} // namespace

void add_store_options(CLI::App& app, store_options& options) {
  app
    .add_option("--etcd", options.etcd,
                "keep the state in this etcd, HOST:PORT[,HOST:PORT…], instead of the embedded "
                "store")
    ->delimiter(',');
  app.add_option("--etcd-prefix", options.prefix,
                 "before every key in etcd; each cluster needs its own [/reprieve/]");
  app.add_option(
    "--etcd-ca", options.tls.authority,
    "certificates that etcd's is checked by, which encrypts; followed when it changes");
  app.add_option("--etcd-cert", options.tls.certificate,
                 "certificate to show to etcd, which encrypts; likewise");
  app.add_option("--etcd-key", options.tls.key, "key of that certificate; likewise");
  app.add_option("--etcd-user", options.user, "user of etcd");
  app.add_option("--etcd-password-file", options.password_file,
                 "file with that user's password; likewise");
  app
    .add_option(
      "--etcd-history", options.history_seconds,
      "seconds for which etcd keeps what was before; one replica compacts it, for all who "
      "use that etcd; 0 leaves that to others")
    ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}))
    ->capture_default_str();
  app
    .add_option("--etcd-client", options.client,
                "who speaks to etcd: direct, or etcd-cpp-apiv3 where that is built in")
    ->check(CLI::IsMember({direct, library}))
    ->capture_default_str();
}

absl::StatusOr<std::shared_ptr<store>>
open_store(const store_options& options, const std::string& data, file_watch& files, sayer say) {
  if (options.etcd.empty()) {
    if (const auto* without = option_without_etcd(options))
      return absl::InvalidArgumentError(
        fmt::format("{} is of use with etcd only; give its address with --etcd", without));
    return sqlite_store::open(data);
  }
  if (options.client == library) {
#ifdef REPRIEVE_ETCD_CPP_APIV3
    return open_etcd<etcd_cpp_store>(options, files, say);
#else
    return absl::UnimplementedError(
      "--etcd-client is etcd-cpp-apiv3, which this reprieved was built without; take direct, or "
      "build it with -DREPRIEVE_ETCD_CPP_APIV3=ON");
#endif
  }
  return open_etcd<etcd_store>(options, files, say);
}

} // namespace reprieve
