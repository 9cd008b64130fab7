#pragma once

#include "actors/replica/peers.hpp"
#include "state/store/store.hpp"

#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace reprieve {

/// How far a store has come: no epoch beyond that was ever given.
struct store_position {
  revision current = 0;
  revision epoch_base = 0; ///< of its schema, which epochs have added that are remembered elsewhere
};

/// Reads the store's position as it is at some moment after the call, and calls back, on any
/// thread.
using position_reader = std::function<void(std::function<void(absl::StatusOr<store_position>)>)>;
position_reader position_of(std::weak_ptr<store> behind);

/// What a replica lets others reach: shared by all connections that others asked for.
class peer_host : public std::enable_shared_from_this<peer_host> {
public:
  peer_host() = default;
  /// Also sees to it that nobody speaks in an epoch which the store has not given. `say` is told of
  /// those who do.
  peer_host(position_reader read, std::function<void(const std::string&)> say)
      : read_(std::move(read)), say_(std::move(say)) {}

  /// Whether the store is known to have given that epoch, or one behind it.
  bool is_given(revision epoch) const;
  /// Likewise of one that has the base of the store's schema added.
  bool is_given_with_base(revision epoch) const;
  void read_position(std::function<void(absl::StatusOr<store_position>)> done);
  void say(const std::string& what) const;

  void serve(std::shared_ptr<const local_shards> here);
  std::shared_ptr<const local_shards> here() const;

  /// Whether what a coordinator of that epoch on another replica says still counts: not when a
  /// newer one has spoken, or one runs here.
  bool may_decide(const std::string& group, revision epoch) const;
  /// A coordinator of that epoch begins.
  void begins(const std::string& group, revision epoch);

private:
  position_reader read_;
  std::function<void(const std::string&)> say_;
  mutable std::mutex mutex_;
  store_position known_;
  std::shared_ptr<const local_shards> here_ = std::make_shared<const local_shards>();
  std::map<std::string, revision> newest_;
};

} // namespace reprieve
