#include "protocol/peers/messages/peer_messages.hpp"
#include "protocol/peers/paged_deltas.hpp"
#include "protocol/peers/peer_session.hpp"
#include "state/text/printable.hpp"
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/fuzz_run.hpp"
#include "tests/support/actor_world.hpp"
#include "tests/support/drawing.hpp"
#include "tests/support/peer_generators.hpp"

#include <gtest/gtest.h>
#include <reprieve/v1/peer.pb.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

// What replicas say to each other, and to those that run the pods.

namespace reprieve {
namespace {

using feeder = absl::Status (*)(std::string_view payload);

/// How the receiver takes a message of that kind, and an example of it.
struct kind_of_letter {
  std::string_view kind;
  feeder feed;
  std::string (*make)();
};

template <class Message>
absl::Status feed_message(std::string_view payload) {
  auto read = decode_peer<Message>(payload);
  if (!read.ok())
    return read.status();
  if constexpr (std::is_same_v<Message, workload_delta>) {
    paged_deltas_in pages;
    pages.complete(*read);
    pages.complete(*read); // of what came before
  }
  encode_peer(*read); // it is passed on
  return absl::OkStatus();
}

template <class Message>
kind_of_letter letter() {
  return {peer_kind<Message>(), feed_message<Message>, [] {
            Message made{};
            draw(made);
            return encode_peer(made);
          }};
}

/// A letter of one of these kinds, in the envelope that it comes in.
std::vector<std::string> letters(const std::vector<kind_of_letter>& kinds) {
  std::vector<std::string> corpus;
  for (const auto& one : kinds)
    add_to(corpus, drawn(6, [&] {
             v1::PeerEnvelope envelope;
             envelope.set_number(7);
             envelope.set_to("n/default.3");
             envelope.set_kind(std::string(one.kind));
             envelope.set_epoch(12);
             envelope.set_payload(one.make());
             return envelope.SerializeAsString();
           }));
  return corpus;
}

/// The end of a connection at a replica that has no shard yet.
class open_session {
public:
  open_session() {
    session_->attach_functor([ended = ended_](const caf::error&) { *ended = true; });
  }
  ~open_session() {
    caf::anon_send_exit(session_, caf::exit_reason::user_shutdown);
    world_.settle();
  }
  open_session(const open_session&) = delete;
  open_session& operator=(const open_session&) = delete;

  /// Throws where the session ends by it.
  void take(const v1::PeerEnvelope& letter) {
    peer_envelope taken;
    taken.number = letter.number();
    taken.answers = letter.answers();
    taken.to = letter.to();
    taken.kind = letter.kind();
    taken.payload = letter.payload();
    taken.epoch = letter.epoch();
    caf::anon_send(session_, wire_arrived{std::move(taken)});
    world_.settle();
    if (*ended_)
      throw std::runtime_error("the session has ended by a letter");
  }

private:
  /// Nobody reads what is said.
  class deaf_wire final : public peer_wire {
  public:
    void send(peer_envelope) override {}
    void close() override {}
  };

  actor_world world_;
  std::shared_ptr<bool> ended_ = std::make_shared<bool>(false);
  peer_session_actor session_ = world_.system().spawn(peer_session, std::make_shared<peer_host>(),
                                                      std::make_shared<deaf_wire>());
};

absl::Status feed_letter(const std::vector<kind_of_letter>& kinds, const std::string& input) {
  v1::PeerEnvelope envelope;
  if (!envelope.ParseFromString(input))
    return absl::InvalidArgumentError("it is no envelope"); // gRPC says so
  for (const auto& one : kinds)
    if (one.kind == envelope.kind()) {
      // Replicas tell each other what was wrong as it is; whoever shows it makes it printable.
      const auto how = one.feed(envelope.payload());
      return {how.code(), printable(std::string(how.message()), 4096)};
    }
  return absl::UnimplementedError("nobody knows " + printable(envelope.kind()));
}

void feed_letters(std::string_view name, const std::vector<kind_of_letter>& kinds) {
  run_fuzz({name, input_form::protobuf, letters(kinds),
            [&](const std::string& input) { return feed_letter(kinds, input); }});
}

const std::vector<kind_of_letter>& kinds_of_replicas() {
  static const std::vector<kind_of_letter> all{letter<put_nodes>(),
                                               letter<remove_nodes>(),
                                               letter<stop_pods>(),
                                               letter<portion_facts>(),
                                               letter<evaluate_nodes>(),
                                               letter<prepare<node_parts>>(),
                                               letter<apply_parts<node_parts>>(),
                                               letter<release_hold>(),
                                               letter<start_pods>(),
                                               letter<withdraw>(),
                                               letter<use_group_limits>(),
                                               letter<heartbeat_request>(),
                                               letter<drop_votes>(),
                                               letter<lent_end>(),
                                               letter<node_delta>(),
                                               letter<room_free>(),
                                               letter<shard_evaluation>(),
                                               letter<put_workloads>(),
                                               letter<remove_workloads>(),
                                               letter<forget_workloads>(),
                                               letter<slots_ended>(),
                                               letter<prepare<workload_parts>>(),
                                               letter<apply_parts<workload_parts>>(),
                                               letter<note_placements>(),
                                               letter<workload_delta>(),
                                               letter<put_catalog>(),
                                               letter<remove_catalog>(),
                                               letter<catalog_update>(),
                                               letter<quota_report>(),
                                               letter<quota_grants>(),
                                               letter<lower_grants>(),
                                               letter<why_pending>(),
                                               letter<read_group>(),
                                               letter<event>(),
                                               letter<read_events>()};
  return all;
}

TEST(fuzz, letters_of_replicas_are_taken_or_refused) {
  feed_letters("letters of replicas", kinds_of_replicas());
}

TEST(fuzz, letters_to_whomever_they_may_be_end_no_session) {
  open_session session;
  run_fuzz({"letters to anybody", input_form::protobuf, letters(kinds_of_replicas()),
            [&](const std::string& input) {
              v1::PeerEnvelope envelope;
              if (!envelope.ParseFromString(input))
                return absl::InvalidArgumentError("it is no envelope");
              session.take(envelope);
              return absl::OkStatus();
            }});
}

/// One that does not start anything has no generator.
kind_of_letter start_letter() {
  return {
    peer_kind<start_order>(), feed_message<start_order>, [] {
      pod what;
      draw(what);
      return encode_peer(start_order{std::make_shared<const shared_pod>(std::move(what)), 12, {}});
    }};
}

kind_of_letter stop_letter() {
  return {peer_kind<stop_order>(), feed_message<stop_order>, [] {
            stop_order order;
            draw_all(order.uid, order.node, order.decision, order.checkpoint, order.grace,
                     order.force, order.epoch);
            return encode_peer(order);
          }};
}

TEST(fuzz, letters_to_machines_and_from_them_are_taken_or_refused) {
  feed_letters("letters to machines and from them",
               {start_letter(), stop_letter(), letter<pod_question>(), letter<watch_nodes>(),
                letter<count_order>(), letter<count_only>(), letter<delete_order>(),
                letter<pod_reports>()});
}

} // namespace
} // namespace reprieve
