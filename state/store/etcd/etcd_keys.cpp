#include "state/store/etcd/etcd_keys.hpp"

#include <utility>

namespace reprieve {

key_range etcd_keys::to_etcd(const key_range& range) const {
  key_range wire{to_etcd(range.begin), {}};
  if (range.end == no_end)
    wire.end = with_prefix(prefix_).end;
  else if (!range.end.empty())
    wire.end = to_etcd(range.end);
  if (wire.begin.empty())
    wire.begin = no_end; // etcd's first key, as it takes no empty one
  return wire;
}

key_value etcd_keys::from_etcd(etcd_wire::KeyValue& from) const {
  return {.key = from_etcd(from.key()),
          .value = std::move(*from.mutable_value()),
          .created = from.create_revision(),
          .modified = from.mod_revision(),
          .version = from.version(),
          .lease = from.lease()};
}

etcd_wire::RangeRequest etcd_keys::to_etcd(const range_request& request) const {
  auto range = to_etcd(request.range);
  etcd_wire::RangeRequest wire;
  wire.set_key(std::move(range.begin));
  wire.set_range_end(std::move(range.end));
  wire.set_limit(request.limit);
  wire.set_revision(request.at);
  wire.set_keys_only(request.keys_only);
  return wire;
}

etcd_wire::TxnRequest etcd_keys::to_etcd(transaction writes) const {
  using etcd_wire::Compare;
  etcd_wire::TxnRequest wire;
  for (const auto& wanted : writes.comparisons) {
    auto& compare = *wire.add_compare();
    compare.set_key(to_etcd(wanted.key));
    switch (wanted.field) {
    case compared::created:
      compare.set_target(Compare::CREATE);
      compare.set_create_revision(wanted.to);
      break;
    case compared::modified:
      compare.set_target(Compare::MOD);
      compare.set_mod_revision(wanted.to);
      break;
    case compared::version:
      compare.set_target(Compare::VERSION);
      compare.set_version(wanted.to);
      break;
    }
  }
  for (auto& one : writes.operations) {
    auto& operation = *wire.add_success();
    if (auto* written = std::get_if<put>(&one)) {
      auto& request = *operation.mutable_request_put();
      request.set_key(to_etcd(written->key));
      request.set_value(std::move(written->value));
      request.set_lease(written->lease);
    } else {
      auto range = to_etcd(std::get<erase>(one).range);
      auto& request = *operation.mutable_request_delete_range();
      request.set_key(std::move(range.begin));
      request.set_range_end(std::move(range.end));
    }
  }
  return wire;
}

} // namespace reprieve
