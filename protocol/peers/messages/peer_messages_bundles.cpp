#include "protocol/messages/convert_object.hpp"
#include "protocol/peers/messages/peer_conversions.hpp"
#include "protocol/peers/messages/peer_messages.hpp"

#include <reprieve/v1/peer.pb.h>

#include <variant>

// What goes into one transaction with the writes of other shards.

namespace reprieve {

// -- what a shard lends ---------------------------------------------------------------------------

static v1::LentBatch to_proto(const lent_result& from) {
  v1::LentBatch to;
  if (!from.ok()) {
    *to.mutable_refused() = to_proto(from.status());
    return to;
  }
  for (const auto& one : from->writes.comparisons) {
    auto& made = *to.add_comparisons();
    made.set_key(one.key);
    made.set_field(one.field == compared::created    ? v1::LentBatch::Comparison::CREATED
                   : one.field == compared::modified ? v1::LentBatch::Comparison::MODIFIED
                                                     : v1::LentBatch::Comparison::VERSION);
    made.set_to(one.to);
  }
  for (const auto& one : from->writes.operations) {
    auto& made = *to.add_operations();
    if (const auto* written = std::get_if<put>(&one)) {
      made.set_key(written->key);
      made.set_value(written->value);
    } else {
      const auto& range = std::get<erase>(one).range;
      made.set_erase(true);
      made.set_key(range.begin);
      made.set_end(range.end);
    }
  }
  return to;
}

static absl::StatusOr<lent_result> from_proto(const v1::LentBatch& from) {
  const auto refused = from_proto(from.refused());
  if (!refused.ok())
    return unreadable{
      absl::Status{refused.status().code(), "refused." + std::string{refused.status().message()}}};
  if (!refused->ok())
    return lent_result{*refused};
  lent_batch to;
  for (const auto& one : from.comparisons()) {
    const auto field = one.field() == v1::LentBatch::Comparison::CREATED    ? compared::created
                       : one.field() == v1::LentBatch::Comparison::MODIFIED ? compared::modified
                                                                            : compared::version;
    to.writes.comparisons.push_back({one.key(), field, one.to()});
  }
  for (const auto& one : from.operations())
    if (one.erase())
      to.writes.operations.emplace_back(erase{{one.key(), one.end()}});
    else
      to.writes.operations.emplace_back(put{one.key(), one.value(), 0});
  return lent_result{std::move(to)};
}

static v1::LentEnd to_proto(const lent_end& from) {
  v1::LentEnd to;
  to.set_bundle(from.bundle);
  to.set_how(from.how == lent_end::written   ? v1::LentEnd::WRITTEN
             : from.how == lent_end::refused ? v1::LentEnd::REFUSED
                                             : v1::LentEnd::UNKNOWN);
  to.set_at(from.at);
  return to;
}

static absl::StatusOr<lent_end> from_proto(const v1::LentEnd& from) {
  const auto how = from.how() == v1::LentEnd::WRITTEN   ? lent_end::written
                   : from.how() == v1::LentEnd::REFUSED ? lent_end::refused
                                                        : lent_end::unknown;
  return lent_end{how, from.bundle(), from.at()};
}

REPRIEVE_PEER_MESSAGE(lent_result, v1::LentBatch)
REPRIEVE_PEER_MESSAGE(lent_end, v1::LentEnd)

// -- what it is asked for -------------------------------------------------------------------------

static v1::CloseShard to_proto(const close_shard& from) {
  v1::CloseShard to;
  to.set_kind(to_proto(from.kind));
  to.mutable_names()->Assign(from.names.begin(), from.names.end());
  return to;
}

static absl::StatusOr<close_shard> from_proto(const v1::CloseShard& from) {
  close_shard to;
  field_reader read;
  read.one("kind", from.kind(), to.kind, from_proto);
  to.names.assign(from.names().begin(), from.names().end());
  return read.result(std::move(to));
}

REPRIEVE_PEER_MESSAGE(close_shard, v1::CloseShard)

template <class Change>
static v1::Lend to_proto(const lend<Change>& from) {
  v1::Lend to;
  to.set_bundle(from.bundle);
  to.set_change(encode_peer(from.change));
  to.set_promised(from.promised);
  return to;
}

template <class Change>
static absl::StatusOr<lend<Change>> read_lend(const v1::Lend& from) {
  auto change = decode_peer<Change>(from.change());
  if (!change.ok())
    return change.status();
  return lend<Change>{from.bundle(), *std::move(change), from.promised()};
}

// Each is a kind of its own.
#define REPRIEVE_LEND_MESSAGE(change)                                                              \
  template <>                                                                                      \
  std::string_view peer_kind<lend<change>>() {                                                     \
    static const std::string kind = "Lend" + std::string(peer_kind<change>());                     \
    return kind;                                                                                   \
  }                                                                                                \
  template <>                                                                                      \
  std::string encode_peer(const lend<change>& m) {                                                 \
    return to_proto(m).SerializeAsString();                                                        \
  }                                                                                                \
  template <>                                                                                      \
  absl::StatusOr<lend<change>> decode_peer(std::string_view bytes) {                               \
    return read_peer<v1::Lend, lend<change>>(bytes, read_lend<change>);                            \
  }

REPRIEVE_LEND_MESSAGE(close_shard)
REPRIEVE_LEND_MESSAGE(put_nodes)
REPRIEVE_LEND_MESSAGE(remove_nodes)
REPRIEVE_LEND_MESSAGE(put_workloads)
REPRIEVE_LEND_MESSAGE(remove_workloads)
REPRIEVE_LEND_MESSAGE(put_catalog)
REPRIEVE_LEND_MESSAGE(remove_catalog)

#undef REPRIEVE_LEND_MESSAGE

} // namespace reprieve
