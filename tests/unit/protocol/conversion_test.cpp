#include "protocol/messages/convert_decision.hpp"
#include "protocol/messages/convert_disruption_budget.hpp"
#include "protocol/messages/convert_node.hpp"
#include "protocol/messages/convert_object.hpp"
#include "protocol/messages/convert_placement.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "protocol/messages/convert_priority_class.hpp"
#include "protocol/messages/convert_queue.hpp"
#include "protocol/messages/convert_reasoning.hpp"
#include "protocol/messages/convert_requests.hpp"
#include "protocol/messages/convert_resource_group.hpp"
#include "protocol/messages/convert_slot.hpp"
#include "protocol/messages/convert_workload.hpp"
#include "protocol/messages/convert_workload_status.hpp"
#include "tests/support/generators.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace reprieve {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

template <class Model>
using message_of = decltype(to_proto(std::declval<const Model&>()));

/// One instance of RapidCheck's templates for all types: one for each is slow to compile.
void check(const std::function<void()>& property) {
  EXPECT_TRUE(rc::check(property));
}

/// A value that is shown where a property fails.
template <class Model>
Model any() {
  Model made;
  draw(made);
  RC_LOG() << to_proto(made).ShortDebugString() << '\n';
  return made;
}

TEST(conversion, bytes_of_a_pod_are_those_of_its_message) {
  check([] {
    const auto made = any<pod>();
    v1::Pod parsed;
    RC_ASSERT(parsed.ParseFromString(encode_message(made)));
    RC_ASSERT(google::protobuf::util::MessageDifferencer::Equals(parsed, to_proto(made)));
    RC_ASSERT(encode_message(made).size() == to_proto(made).ByteSizeLong());
  });
}

void expect_round_trip_of(const auto& made) {
  const auto message = to_proto(made);
  const auto back = from_proto(message);
  RC_ASSERT(back.ok());
  RC_ASSERT((*back == made));

  std::remove_const_t<decltype(message)> parsed;
  RC_ASSERT(parsed.ParseFromString(message.SerializeAsString()));
  const auto stored = from_proto(parsed);
  RC_ASSERT(stored.ok());
  RC_ASSERT((*stored == made));
}

template <class Refused>
std::string refusal_of(const Refused& message) {
  const auto read = from_proto(message);
  if (read.ok())
    return "it was accepted";
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string{read.status().message()};
}

// Every struct of the model

template <class Model>
class conversion : public ::testing::Test {};

using structs =
  ::testing::Types<taint, toleration, node, node_status, priority_class, guards,
                   required_node_settings, resource_group, queue, queue_status, pod_template,
                   pod_group, resume_settings, checkpoint_settings, workload, condition,
                   resolved_priority, past_preemption, workload_status, portion_id, pod,
                   slot_record, placement, disruption_budget, assignment, victim_pod, victim,
                   spared, score, domain_outcome, reasoning, trace_context, decision>;
TYPED_TEST_SUITE(conversion, structs);

TYPED_TEST(conversion, gives_back_what_went_in) {
  check([] { expect_round_trip_of(any<TypeParam>()); });
}

TYPED_TEST(conversion, takes_an_empty_message_for_the_defaults) {
  const auto read = from_proto(message_of<TypeParam>{});

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, TypeParam{});
}

TYPED_TEST(conversion, sets_every_field_of_the_message) {
  std::set<const FieldDescriptor*> unset;
  const auto* described = message_of<TypeParam>::descriptor();
  for (int i = 0; i < described->field_count(); ++i)
    unset.insert(described->field(i));

  check([&unset] {
    const auto message = to_proto(any<TypeParam>());
    std::vector<const FieldDescriptor*> set;
    message.GetReflection()->ListFields(message, &set);
    for (const auto* field : set)
      unset.erase(field);
  });

  for (const auto* field : unset)
    ADD_FAILURE() << field->full_name() << " is never set";
}

TYPED_TEST(conversion, ignores_a_field_of_a_newer_version) {
  check([] {
    const auto made = any<TypeParam>();
    auto newer = to_proto(made);
    newer.GetReflection()->MutableUnknownFields(&newer)->AddLengthDelimited(5000)->assign("new");

    message_of<TypeParam> parsed;
    RC_ASSERT(parsed.ParseFromString(newer.SerializeAsString()));
    const auto read = from_proto(parsed);

    RC_ASSERT(read.ok());
    RC_ASSERT((*read == made));
  });
}

// Every enum of the model

template <class Enum>
class enum_conversion : public ::testing::Test {};

using enums = ::testing::Types<taint_effect, preemption_policy, group_policy, preemption_order,
                               victim_strategy, minimise, workload_kind, disruption_mode,
                               resume_policy, pod_phase, slot_state, decision_phase>;
TYPED_TEST_SUITE(enum_conversion, enums);

TYPED_TEST(enum_conversion, gives_back_what_went_in) {
  check([] {
    TypeParam made;
    draw(made);
    const auto back = from_proto(to_proto(made));
    RC_ASSERT(back.ok());
    RC_ASSERT((*back == made));
  });
}

TYPED_TEST(enum_conversion, has_a_value_for_every_number) {
  const auto* described = google::protobuf::GetEnumDescriptor<message_of<TypeParam>>();

  for (int i = 1; i < described->value_count(); ++i) {
    const auto number = static_cast<message_of<TypeParam>>(described->value(i)->number());
    const auto read = from_proto(number);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(to_proto(*read), number);
  }
}

TYPED_TEST(enum_conversion, takes_unspecified_for_the_default) {
  const auto read = from_proto(message_of<TypeParam>{});

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, TypeParam{});
}

/// Sets each enum in and below `at` in turn, one at a time, to a number that no version knows.
/// Returns how many there were.
int poison_each_enum(Message& at, const std::function<void(const FieldDescriptor&)>& check) {
  constexpr int unknown = 4711;
  const auto* reflection = at.GetReflection();
  int found = 0;
  for (int i = 0; i < at.GetDescriptor()->field_count(); ++i) {
    const auto* field = at.GetDescriptor()->field(i);
    if (field->is_map())
      continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      if (field->is_repeated())
        reflection->AddEnumValue(&at, field, unknown);
      else
        reflection->SetEnumValue(&at, field, unknown);
      check(*field);
      ++found;
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      found += poison_each_enum(field->is_repeated() ? *reflection->AddMessage(&at, field)
                                                     : *reflection->MutableMessage(&at, field),
                                check);
    }
    reflection->ClearField(&at, field);
  }
  return found;
}

template <class Root>
int expect_unknown_enums_refused() {
  Root root;
  return poison_each_enum(root, [&root](const FieldDescriptor& field) {
    const auto refusal = refusal_of(root);
    EXPECT_NE(refusal.find(field.name()), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("4711 is no " + field.enum_type()->name()), std::string::npos)
      << refusal;
  });
}

TEST(conversion_refusal, meets_an_unknown_enum_number_wherever_it_stands) {
  EXPECT_GE(expect_unknown_enums_refused<v1::Object>(), 12);
  EXPECT_GE(expect_unknown_enums_refused<v1::Decision>(), 3);
  EXPECT_GE(expect_unknown_enums_refused<v1::DecisionHead>(), 1);
}

TEST(conversion_refusal, says_where_the_enum_is_and_which_numbers_it_could_have) {
  v1::Workload message;
  message.add_groups();
  auto& tolerations = *message.add_groups()->mutable_pods()->mutable_tolerations();
  tolerations.Add()->set_effect(static_cast<v1::TaintEffect>(7));

  EXPECT_EQ(refusal_of(message),
            "groups[1].pods.tolerations[0].effect: 7 is no TaintEffect that this version knows; it "
            "knows TAINT_EFFECT_NO_SCHEDULE (1), TAINT_EFFECT_NO_EXECUTE (2)");
}

TEST(conversion_refusal, meets_a_negative_amount) {
  v1::Node message;
  (*message.mutable_capacity())["gpu"] = -1000;

  EXPECT_EQ(refusal_of(message), "capacity[gpu]: -1000 is negative; give 0 or more");
}

TEST(conversion_refusal, meets_a_negative_duration) {
  v1::Workload message;
  message.set_grace_period(-5);

  EXPECT_EQ(refusal_of(message), "grace_period: a duration of -5 ns is negative; give 0 or more");
}

TEST(conversion_refusal, leaves_the_counts_of_a_pod_group_to_admission) {
  v1::PodGroup message;
  message.set_count(-1);

  const auto read = from_proto(message);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->count, -1);
}

TEST(conversion_refusal, meets_a_time_before_the_epoch) {
  v1::Pod message;
  message.set_created(-1);

  EXPECT_EQ(refusal_of(message),
            "created: -1 ns is before 1970; give the time in nanoseconds since "
            "then, or 0 where it is not known");
}

TEST(conversion_refusal, meets_a_negative_position) {
  v1::PortionId message;
  message.set_index(-1);

  EXPECT_EQ(refusal_of(message), "index: -1 is negative; give 0 or more");
}

TEST(conversion_refusal, tells_the_first_of_several_faults) {
  v1::Pod message;
  message.set_replica(-2);
  message.set_started(-1);

  EXPECT_EQ(refusal_of(message), "replica: -2 is negative; give 0 or more");
}

// Objects of any kind

TEST(object_conversion, gives_back_what_went_in) {
  check([] { expect_round_trip_of(any<object>()); });
}

TEST(object_conversion, gives_back_every_kind) {
  for (int i = v1::ObjectKind_MIN + 1; i <= v1::ObjectKind_MAX; ++i) {
    const auto number = static_cast<v1::ObjectKind>(i);
    const auto read = from_proto(number);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(to_proto(*read), number);
  }
}

TEST(object_conversion, numbers_an_object_as_its_kind) {
  check([] {
    const auto made = any<object>();
    RC_ASSERT(static_cast<int>(to_proto(made).spec_case()) == to_proto(kind_of(made)));
  });
}

TEST(object_conversion, needs_a_kind) {
  EXPECT_EQ(refusal_of(v1::OBJECT_KIND_UNSPECIFIED).find("0 is no ObjectKind"), 0u);
  EXPECT_EQ(refusal_of(v1::Object{}).find("an object holds nothing"), 0u);
}

TEST(object_conversion, names_the_object_it_refuses) {
  v1::Object message;
  message.mutable_queue()->set_name("research");
  message.mutable_queue()->set_weight(-3);

  EXPECT_EQ(refusal_of(message), "Queue 'research': weight: -3 is negative; give 1 or more");
}

// What the store holds

TEST(decision_record, comes_back_from_its_head_and_any_number_of_bodies) {
  check([] {
    const auto made = any<decision>();
    const auto whole = to_proto(made);
    std::vector<v1::DecisionBody> bodies(1);
    *bodies.front().mutable_why() = whole.why();
    for (const auto& assignment : whole.assignments())
      *bodies.emplace_back().add_assignments() = assignment;
    for (const auto& victim : whole.victims())
      *bodies.emplace_back().add_victims() = victim;
    for (const auto& count : whole.counts())
      *bodies.emplace_back().add_counts() = count;
    for (const auto& uid : whole.force_deletes())
      *bodies.emplace_back().add_force_deletes() = uid;

    auto read = from_proto(to_head(made));
    RC_ASSERT(read.ok());
    for (const auto& body : bodies)
      RC_ASSERT(add_body(body, *read).ok());

    RC_ASSERT((*read == made));
  });
}

TEST(decision_record, refuses_a_body_that_it_can_not_read) {
  v1::DecisionBody body;
  body.add_victims()->mutable_portion()->set_replica(-1);
  decision made;

  EXPECT_EQ(std::string{add_body(body, made).message()},
            "victims[0].portion.replica: -1 is negative; give 0 or more");
}

} // namespace
} // namespace reprieve
