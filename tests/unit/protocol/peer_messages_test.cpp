#include "protocol/peers/messages/peer_messages.hpp"
#include "state/model/unchanged_error.hpp"
#include "tests/support/drawing.hpp"
#include "tests/support/peer_generators.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>
#include <reprieve/v1/peer.pb.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace reprieve {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// One instance of RapidCheck's templates for all types: one for each is slow to compile.
void check(const std::function<void()>& property) {
  EXPECT_TRUE(rc::check(property));
}

/// The Protobuf message that an envelope's kind names, with these bytes in it.
std::unique_ptr<Message> form_of(std::string_view kind, const std::string& bytes) {
  const auto* described = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
    "reprieve.v1." + std::string{kind});
  if (described == nullptr)
    return nullptr;
  std::unique_ptr<Message> form{
    google::protobuf::MessageFactory::generated_factory()->GetPrototype(described)->New()};
  return form->ParseFromString(bytes) ? std::move(form) : nullptr;
}

/// A message that is shown where a property fails.
template <class Model>
Model any() {
  Model made{};
  draw(made);
  if (const auto form = form_of(peer_kind<Model>(), encode_peer(made)))
    RC_LOG() << form->ShortDebugString() << '\n';
  return made;
}

// -- whether two messages are the same, what they point to included -------------------------------

template <class Record>
bool same(const std::vector<std::shared_ptr<const Record>>& a,
          const std::vector<std::shared_ptr<const Record>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& one, const auto& other) { return *one == *other; });
}

template <class Model>
bool same(const Model& a, const Model& b) {
  if constexpr (std::is_empty_v<Model>)
    return true;
  else
    return a == b;
}

bool same(const node_delta& a, const node_delta& b) {
  return a.shard == b.shard && a.number == b.number && same(a.changed, b.changed)
         && a.removed == b.removed && a.everything == b.everything && a.aside == b.aside;
}

bool same(const workload_delta& a, const workload_delta& b) {
  return a.shard == b.shard && a.number == b.number && same(a.changed, b.changed)
         && a.removed == b.removed && a.budgets == b.budgets
         && a.removed_budgets == b.removed_budgets && a.placements == b.placements
         && a.removed_placements == b.removed_placements && a.everything == b.everything
         && a.aside == b.aside;
}

bool same(const read_group_result& a, const read_group_result& b) {
  if (!a.ok() || !b.ok())
    return a.status() == b.status();
  return a->name == b->name && a->taken == b->taken && same(a->nodes, b->nodes)
         && same(a->workloads, b->workloads) && a->budgets == b->budgets && a->status == b->status;
}

bool same(const watch_nodes& a, const watch_nodes& b) {
  return a.shard == b.shard && a.nodes == b.nodes && a.epoch == b.epoch;
}

bool same(const pod_question& a, const pod_question& b) {
  return a.uid == b.uid && a.node == b.node && a.phase == b.phase && a.epoch == b.epoch;
}

bool same(const count_order& a, const count_order& b) {
  return a.resource_group == b.resource_group && a.what->what() == b.what->what() && a.uid == b.uid
         && a.node_selector == b.node_selector && a.tolerations == b.tolerations
         && a.count == b.count && a.first_to_go == b.first_to_go && a.epoch == b.epoch;
}

bool same(const delete_order& a, const delete_order& b) {
  return a.uid == b.uid && a.node == b.node && a.decision == b.decision && a.epoch == b.epoch;
}

bool same(const pod_reports& a, const pod_reports& b) {
  return std::ranges::equal(a, b, [](const pod_report& one, const pod_report& other) {
    const bool alike = one.placed && other.placed ? one.placed->what() == other.placed->what()
                                                  : !one.placed && !other.placed;
    return alike && one.uid == other.uid && one.node == other.node && one.happened == other.happened
           && one.at == other.at;
  });
}

bool same(const evaluate_nodes& a, const evaluate_nodes& b) {
  return *a.asked == *b.asked && a.trace == b.trace;
}

bool same(const operation& a, const operation& b) {
  if (a.index() != b.index())
    return false;
  if (const auto* written = std::get_if<put>(&a))
    return written->key == std::get<put>(b).key && written->value == std::get<put>(b).value;
  const auto& [begin, end] = std::get<erase>(a).range;
  return begin == std::get<erase>(b).range.begin && end == std::get<erase>(b).range.end;
}

bool same(const lent_result& a, const lent_result& b) {
  if (!a.ok() || !b.ok())
    return a.status() == b.status();
  return std::ranges::equal(a->writes.comparisons, b->writes.comparisons,
                            [](const comparison& one, const comparison& other) {
                              return one.key == other.key && one.field == other.field
                                     && one.to == other.to;
                            })
         && std::ranges::equal(
           a->writes.operations, b->writes.operations,
           [](const operation& one, const operation& other) { return same(one, other); });
}

bool same(const catalog_update& a, const catalog_update& b) {
  return *a.known == *b.known && a.unfinished == b.unfinished && a.at == b.at && a.aside == b.aside;
}

/// Traces travel in the envelope.
template <class Model>
Model without_trace(Model m) {
  if constexpr (requires { m.trace; })
    m.trace = {};
  return m;
}

// -- every message --------------------------------------------------------------------------------

template <class Model>
class peer_message : public ::testing::Test {};

using messages = ::testing::Types<
  put_nodes, remove_nodes, stop_pods, portion_facts, evaluate_nodes, prepare<node_parts>,
  apply_parts<node_parts>, release_hold, start_pods, withdraw, use_group_limits, heartbeat_request,
  count_holds, confirm_ownership, drop_votes, node_delta, room_free, shard_evaluation,
  heartbeat_result, put_workloads, remove_workloads, forget_workloads, slots_ended,
  prepare<workload_parts>, apply_parts<workload_parts>, note_placements, workload_delta,
  put_catalog, remove_catalog, catalog_update, quota_report, quota_grants, lower_grants,
  read_queues, by_name<queue_status>, why_pending, read_group, read_group_result, std::string,
  event, event_list, read_events, absl::Status, std::size_t, close_shard, lent_result, lent_end,
  pod_question, watch_nodes, count_order, count_only, delete_order, pod_reports>;
TYPED_TEST_SUITE(peer_message, messages);

TYPED_TEST(peer_message, comes_back_as_it_was_but_for_its_trace) {
  check([] {
    const auto made = any<TypeParam>();
    const auto read = decode_peer<TypeParam>(encode_peer(made));
    RC_ASSERT(read.ok());
    RC_ASSERT(same(*read, without_trace(made)));
  });
}

TYPED_TEST(peer_message, ignores_a_field_of_a_newer_version) {
  check([] {
    const auto made = any<TypeParam>();
    // Field 5000, three bytes.
    const auto read = decode_peer<TypeParam>(encode_peer(made) + "\xc2\xb8\x02\x03new");
    RC_ASSERT(read.ok());
    RC_ASSERT(same(*read, without_trace(made)));
  });
}

/// The message's fields, and those of the messages below it that stand in peer.proto, too.
void collect(const google::protobuf::Descriptor& described, std::set<const FieldDescriptor*>& to) {
  for (int i = 0; i < described.field_count(); ++i) {
    const auto* field = described.field(i);
    if (!to.insert(field).second || field->message_type() == nullptr)
      continue;
    if (field->message_type()->file() == v1::PeerEnvelope::descriptor()->file())
      collect(*field->message_type(), to);
  }
}

void erase_set_fields(const Message& in, std::set<const FieldDescriptor*>& from) {
  std::vector<const FieldDescriptor*> set;
  const auto* reflection = in.GetReflection();
  reflection->ListFields(in, &set);
  for (const auto* field : set) {
    from.erase(field);
    if (field->message_type() == nullptr)
      continue;
    if (!field->is_repeated())
      erase_set_fields(reflection->GetMessage(in, field), from);
    for (int i = 0; field->is_repeated() && i < reflection->FieldSize(in, field); ++i)
      erase_set_fields(reflection->GetRepeatedMessage(in, field, i), from);
  }
}

TYPED_TEST(peer_message, sets_every_field_of_its_form) {
  const auto form = form_of(peer_kind<TypeParam>(), {});
  ASSERT_TRUE(form);
  std::set<const FieldDescriptor*> unset;
  collect(*form->GetDescriptor(), unset);

  check([&unset] {
    // A few draws each: small ones leave lists and maps empty.
    for (int i = 0; i < 10 && !unset.empty(); ++i) {
      const auto drawn = form_of(peer_kind<TypeParam>(), encode_peer(any<TypeParam>()));
      RC_ASSERT(static_cast<bool>(drawn));
      erase_set_fields(*drawn, unset);
    }
  });

  for (const auto* field : unset)
    ADD_FAILURE() << field->full_name() << " is never set";
}

/// Bytes that are not as they were sent give another message, which can be sent on, or a sentence
/// that says which message was expected. Returns whether they were read.
template <class Model>
bool expect_read_or_refused(const std::string& bytes) {
  const auto read = decode_peer<Model>(bytes);
  if (!read.ok()) {
    const std::string why{read.status().message()};
    RC_ASSERT(read.status().code() == absl::StatusCode::kDataLoss
              || read.status().code() == absl::StatusCode::kInvalidArgument);
    RC_ASSERT(why.find(peer_kind<Model>()) != std::string::npos);
    RC_ASSERT(why.size() > peer_kind<Model>().size() + 10);
    return false;
  }
  const auto again = decode_peer<Model>(encode_peer(*read));
  RC_ASSERT(again.ok());
  RC_ASSERT(same(*again, *read));
  return true;
}

TYPED_TEST(peer_message, cut_short_is_refused_or_makes_sense) {
  check([] {
    const auto bytes = encode_peer(any<TypeParam>());
    for (int i = 0; i < 10; ++i)
      expect_read_or_refused<TypeParam>(
        bytes.substr(0, *rc::gen::inRange<std::size_t>(0, bytes.size() + 1)));
  });
}

TYPED_TEST(peer_message, with_a_bit_turned_is_refused_or_makes_sense) {
  int read = 0;
  int refused = 0;
  check([&] {
    const auto bytes = encode_peer(any<TypeParam>());
    for (int i = 0; i < 10 && !bytes.empty(); ++i) {
      auto turned = bytes;
      auto& byte = turned[*rc::gen::inRange<std::size_t>(0, turned.size())];
      byte = static_cast<char>(byte ^ (1 << *rc::gen::inRange(0, 8)));
      ++(expect_read_or_refused<TypeParam>(turned) ? read : refused);
    }
  });
  // Both must have happened for this to say anything.
  EXPECT_EQ(read > 0 && refused > 0, !std::is_empty_v<TypeParam>) << read << ", " << refused;
}

TYPED_TEST(peer_message, made_of_noise_is_refused_or_makes_sense) {
  check([] { expect_read_or_refused<TypeParam>(*rc::gen::arbitrary<std::string>()); });
}

TEST(peer_message_within, takes_what_is_to_be_lent_along) {
  check([] {
    const lend<put_nodes> made{*any_text(), any<put_nodes>()};
    const auto read = decode_peer<lend<put_nodes>>(encode_peer(made));
    RC_ASSERT(read.ok());
    RC_ASSERT(*read == made);
  });
  EXPECT_EQ(peer_kind<lend<put_nodes>>(), "LendPutNodes");
  EXPECT_EQ(peer_kind<lend<remove_catalog>>(), "LendRemoveCatalog");
}

template <class... Models>
std::vector<std::string_view> kinds_of(::testing::Types<Models...>) {
  return {peer_kind<Models>()...};
}

TEST(peer_kinds, are_all_different) {
  const auto kinds = kinds_of(messages{});
  EXPECT_EQ(std::set<std::string_view>(kinds.begin(), kinds.end()).size(), kinds.size());
}

// -- what drawn messages do not show --------------------------------------------------------------

template <class Model>
std::string refusal_of(const Message& form) {
  const auto read = decode_peer<Model>(form.SerializeAsString());
  return read.ok() ? "it was read" : std::string{read.status().message()};
}

TEST(peer_refusal, says_which_message_was_expected) {
  const auto read = decode_peer<put_nodes>("\xff\xff");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().message(), "reprieve.v1.PutNodes expected, other bytes found");
}

TEST(peer_refusal, says_where_it_found_what_can_not_be) {
  v1::PutNodes nodes;
  (*nodes.add_nodes()->mutable_capacity())["gpu"] = -1;
  EXPECT_EQ(refusal_of<put_nodes>(nodes),
            "PutNodes: nodes[0].capacity[gpu]: -1 is negative; give 0 or more");

  v1::EvaluateNodes asked;
  asked.mutable_settings()->set_explained(static_cast<v1::ExplanationDepth>(7));
  EXPECT_EQ(refusal_of<evaluate_nodes>(asked).find(
              "EvaluateNodes: settings.explained: 7 is no ExplanationDepth"),
            0U);

  v1::CatalogUpdate known;
  (*known.mutable_queues())["research"].set_weight(-3);
  EXPECT_EQ(refusal_of<catalog_update>(known),
            "CatalogUpdate: queues[research].weight: -3 is negative; give 1 or more");
}

TEST(peer_refusal, meets_records_and_pods_that_are_none) {
  v1::NodeDelta delta;
  delta.add_changed("\xff");
  EXPECT_EQ(refusal_of<node_delta>(delta),
            "NodeDelta: changed[0]: reprieve.v1.NodeRecord expected, other bytes found");

  v1::ApplyNodes committed;
  committed.add_parts()->add_placed("\xff");
  EXPECT_EQ(refusal_of<apply_parts<node_parts>>(committed),
            "ApplyNodes: parts[0].placed[0]: reprieve.v1.Pod expected, other bytes found");
}

TEST(peer_refusal, meets_a_list_that_is_longer_than_can_be_counted) {
  v1::EvaluateNodes asked;
  asked.set_most(~std::uint64_t{0});
  EXPECT_EQ(refusal_of<evaluate_nodes>(asked),
            "EvaluateNodes: most: 18446744073709551615 nodes are too many to list; give at most "
            "2147483647");
}

TEST(peer_refusal, meets_a_status_that_is_none) {
  v1::Status status;
  status.set_code(17);
  EXPECT_EQ(refusal_of<absl::Status>(status),
            "Status: code: 17 is no status; it must be from 0 to 16");

  v1::HeartbeatResult result;
  *result.mutable_refused() = status;
  EXPECT_EQ(refusal_of<heartbeat_result>(result),
            "HeartbeatResult: refused.code: 17 is no status; it must be from 0 to 16");
}

TEST(peer_answer, that_says_no_is_told_from_one_that_can_not_be_read) {
  const auto no = mark_nothing_changed(absl::UnavailableError("not now"));

  const auto status = decode_peer<absl::Status>(encode_peer(no));
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(*status, no);
  EXPECT_TRUE(is_marked_nothing_changed(*status));
  EXPECT_FALSE(decode_peer<absl::Status>("\xff").ok());

  const auto heard = decode_peer<heartbeat_result>(encode_peer(heartbeat_result{no}));
  ASSERT_TRUE(heard.ok());
  EXPECT_EQ(heard->status(), no);
  EXPECT_FALSE(decode_peer<heartbeat_result>("\xff").ok());
}

TEST(peer_answer, may_quote_bytes_that_are_no_text) {
  const std::string bytes{"n\0de \xff\xfe", 7};
  const auto read = decode_peer<std::string>(encode_peer(bytes));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, bytes);
}

TEST(peer_facts, tell_a_node_without_costs_from_one_that_is_not_mentioned) {
  portion_facts facts;
  facts.costs["n1"];
  const auto read = decode_peer<portion_facts>(encode_peer(facts));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, facts);
  EXPECT_TRUE(read->costs.contains("n1"));
}

TEST(peer_bytes, of_a_placed_pod_are_made_once) {
  pod placed;
  placed.uid = "u1";
  prepare<node_parts> asked;
  asked.parts.push_back({"n1", {placed}, {}, {}});
  const auto never = [](const pod&) -> std::string {
    ADD_FAILURE() << "its bytes were known";
    return {};
  };

  const auto read = decode_peer<prepare<node_parts>>(encode_peer(asked));

  ASSERT_TRUE(read.ok());
  const auto& sent = asked.parts.front().placed.shared().front()->bytes(never);
  const auto& received = read->parts.front().placed.shared().front()->bytes(never);
  EXPECT_FALSE(sent.empty());
  EXPECT_EQ(received, sent);
}

} // namespace
} // namespace reprieve
