#pragma once

#include "state/store/etcd/etcd.pb.h"
#include "state/store/store.hpp"

namespace reprieve {

/// Translates keys to those in etcd, which have a prefix before them, and back.
class etcd_keys {
public:
  explicit etcd_keys(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string to_etcd(const std::string& key) const {
    return prefix_ + key;
  }

  key_range to_etcd(const key_range& range) const;

  /// The key without the prefix.
  std::string from_etcd(const std::string& key) const {
    return key.substr(prefix_.size());
  }

  /// Takes key and value out of `from`.
  key_value from_etcd(etcd_wire::KeyValue& from) const;

  etcd_wire::RangeRequest to_etcd(const range_request& request) const;
  etcd_wire::TxnRequest to_etcd(transaction writes) const;

private:
  std::string prefix_;
};

} // namespace reprieve
