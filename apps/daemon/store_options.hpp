#pragma once

#include "protocol/access/file_watch.hpp"
#include "protocol/access/tls_files.hpp"
#include "state/store/store.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace reprieve {

/// Where the daemon keeps what must outlive it.
struct store_options {
  std::vector<std::string> etcd;      ///< `host:port` of each member; none: the embedded store
  std::string prefix;                 ///< before every key in etcd; empty for the usual one
  tls_files tls;                      ///< towards etcd; all empty: not encrypted
  std::string user;                   ///< of etcd; empty for none
  std::string password_file;          ///< of that user
  std::string client = "direct";      ///< who speaks to etcd: that, or a library
  std::int64_t history_seconds = 600; ///< of etcd, which is compacted by it; 0: others do so
  /// What takes longer than a lease may have been lost together with etcd's leader.
  duration call_timeout = std::chrono::seconds{5};
};

void add_store_options(CLI::App& app, store_options& options);

/// Opens the store that the options choose, the embedded one in the directory `data`. Files with
/// certificates and the password are followed by `files` for as long as that is there; what comes
/// of a change goes to `say`.
absl::StatusOr<std::shared_ptr<store>> open_store(const store_options& options,
                                                  const std::string& data, file_watch& files,
                                                  std::function<void(const std::string&)> say);

} // namespace reprieve
