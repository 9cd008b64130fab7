#pragma once

#include "state/store/etcd/etcd_options.hpp"
#include "state/store/etcd/etcd_status.hpp"

#include <etcd/SyncClient.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace reprieve {

/// One member of etcd, as the library speaks to it.
struct etcd_cpp_member {
  std::size_t number = 0;
  std::shared_ptr<etcd::SyncClient> client{};
};

/// What a call through the library came to, and where it went last.
struct etcd_cpp_answer {
  etcd_end end;
  etcd::Response response{};
  etcd_cpp_member from{};
};

/// The members of etcd. Calls go to one at a time, and to the next when that fails. May be used on
/// any thread, and blocks it.
class etcd_cpp_members {
public:
  explicit etcd_cpp_members(etcd_options options);

  /// Makes the call; goes to another member only when nothing was sent to the first.
  etcd_cpp_answer call(const std::function<etcd::Response(etcd::SyncClient&)>& make);

  /// The member that calls go to at present. May wait for its name, or for a token.
  etcd_cpp_member present();

  /// Calls to come go to another one, unless they do already.
  void rotate_from(std::size_t member);

  /// The client is made anew when it is needed: its address and its token may be outdated.
  void forget(const etcd_cpp_member& member);

  /// All clients are made anew with these.
  void use(etcd_tls tls);
  void use_password(std::string password);

  bool has_user() const {
    return !options_.user.empty();
  }

private:
  void change(const std::function<void(etcd_options&)>& how);

  std::mutex mutex_;
  etcd_options options_; ///< endpoints and user stay as they are, and need no lock
  std::vector<std::shared_ptr<etcd::SyncClient>> clients_; ///< null where there is none now
  std::size_t current_ = 0;
  std::uint64_t changes_ = 0; ///< of the options
};

} // namespace reprieve
