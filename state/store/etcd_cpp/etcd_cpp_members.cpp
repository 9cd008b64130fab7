#include "state/store/etcd_cpp/etcd_cpp_members.hpp"

#include "state/store/etcd/etcd_arguments.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace reprieve {

namespace {

/// gRPC counts the deadlines that a service configuration gives from up to two seconds too early.
constexpr duration counted_too_early = std::chrono::seconds(2);

/// The library's own timeout leaves what it gave up behind in memory, and is not there for all of
/// its calls. gRPC has another place for deadlines; it holds for renewals, too, but not for
/// watches.
std::string deadlines(duration call_timeout) {
  const auto most =
    std::chrono::ceil<std::chrono::milliseconds>(call_timeout + counted_too_early).count();
  return fmt::format(R"({{"methodConfig": [{{"name": [{{"service": "etcdserverpb.KV"}},)"
                     R"({{"service": "etcdserverpb.Lease"}}, {{"service": "etcdserverpb.Auth"}}],)"
                     R"("timeout": "{}.{:03}s"}}]}})",
                     most / 1000, most % 1000);
}

/// A text that the library wants to read from a file, kept off the disk.
class text_as_file {
public:
  explicit text_as_file(const std::string& text)
      : file_(text.empty() ? -1 : ::memfd_create("etcd-tls", MFD_CLOEXEC)) {
    for (std::size_t at = 0; file_ >= 0 && at < text.size();) {
      const auto written = ::write(file_, text.data() + at, text.size() - at);
      if (written <= 0)
        break; // the library then reads what no connection can be made with
      at += static_cast<std::size_t>(written);
    }
  }

  ~text_as_file() {
    if (file_ >= 0)
      ::close(file_);
  }

  text_as_file(const text_as_file&) = delete;
  text_as_file& operator=(const text_as_file&) = delete;

  /// Empty for an empty text, which the library takes for none.
  std::string path() const {
    return file_ < 0 ? "" : fmt::format("/proc/self/fd/{}", file_);
  }

private:
  const int file_;
};

/// The name that a member's certificate must have: the library connects to an address, and would
/// look for that.
std::string host_of(const std::string& endpoint) {
  auto host = endpoint.substr(0, endpoint.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  return host;
}

std::shared_ptr<etcd::SyncClient> make_client(const etcd_options& options,
                                              const std::string& endpoint) {
  auto arguments = etcd_arguments();
  arguments.SetServiceConfigJSON(deadlines(options.call_timeout));
  if (options.tls) {
    const text_as_file authority(options.tls->certificate_authority);
    const text_as_file certificate(options.tls->certificate);
    const text_as_file key(options.tls->key);
    return std::make_shared<etcd::SyncClient>(endpoint, authority.path(), certificate.path(),
                                              key.path(), host_of(endpoint), arguments);
  }
  if (options.user.empty())
    return std::make_shared<etcd::SyncClient>(endpoint, arguments);
  // It would renew its token by itself, but while other threads read it; we make a new client.
  constexpr int never = std::numeric_limits<int>::max();
  return std::make_shared<etcd::SyncClient>(endpoint, options.user, options.password, never,
                                            arguments);
}

etcd_end end_of(const etcd::Response& response, const std::string& endpoint) {
  if (response.is_ok() || response.error_code() == etcd::ERROR_COMPARE_FAILED)
    return {grpc::Status::OK};
  const auto code = static_cast<grpc::StatusCode>(response.error_code());
  if (code == grpc::StatusCode::INTERNAL
      && response.error_message() == "the target uri is not valid")
    return {grpc::Status(grpc::StatusCode::UNAVAILABLE,
                         fmt::format("the name in {} can't be resolved", endpoint)),
            false};
  const grpc::Status status(code, response.error_message());
  return {status, !never_sent(status)};
}

} // namespace

etcd_cpp_members::etcd_cpp_members(etcd_options options)
    : options_(std::move(options)), clients_(options_.endpoints.size()) {}

etcd_cpp_member etcd_cpp_members::present() {
  std::unique_lock lock(mutex_);
  const auto number = current_;
  if (clients_[number])
    return {number, clients_[number]};
  const auto options = options_;
  const auto seen = changes_;
  lock.unlock();
  auto made = make_client(options, options.endpoints[number]);
  lock.lock();
  if (changes_ == seen && !clients_[number])
    clients_[number] = made;
  return {number, std::move(made)};
}

etcd_cpp_answer
etcd_cpp_members::call(const std::function<etcd::Response(etcd::SyncClient&)>& make) {
  auto left = options_.endpoints.size();
  bool token_renewed = !has_user();
  for (;;) {
    const auto to = present();
    --left;
    auto response = make(*to.client);
    auto end = end_of(response, options_.endpoints[to.number]);
    const auto code = end.status.error_code();
    if (code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::DEADLINE_EXCEEDED)
      rotate_from(to.number);
    if (!end.sent)
      forget(to);
    if (!end.sent && left > 0)
      continue;
    if (!wants_new_token(end.status) || std::exchange(token_renewed, true))
      return {std::move(end), std::move(response), to};
    forget(to);
    left = options_.endpoints.size();
  }
}

void etcd_cpp_members::rotate_from(std::size_t member) {
  const std::lock_guard lock(mutex_);
  if (member == current_)
    current_ = (current_ + 1) % clients_.size();
}

void etcd_cpp_members::forget(const etcd_cpp_member& member) {
  const std::lock_guard lock(mutex_);
  if (clients_[member.number] == member.client)
    clients_[member.number] = nullptr;
}

void etcd_cpp_members::use(etcd_tls tls) {
  change([&](etcd_options& options) { options.tls = std::move(tls); });
}

void etcd_cpp_members::use_password(std::string password) {
  change([&](etcd_options& options) { options.password = std::move(password); });
}

void etcd_cpp_members::change(const std::function<void(etcd_options&)>& how) {
  std::vector<std::shared_ptr<etcd::SyncClient>> fresh(options_.endpoints.size());
  const std::lock_guard lock(mutex_);
  how(options_);
  ++changes_;
  clients_.swap(fresh);
}

} // namespace reprieve
