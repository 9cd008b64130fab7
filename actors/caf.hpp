#pragma once

// The one door to CAF: everything that depends on its version (0.17.6 here) stands in this file.

#include "state/quantities/time.hpp"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <caf/actor_clock.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/result.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace reprieve {

namespace detail {

template <class Signature>
struct message_handler;

template <class Reply, class... Message>
struct message_handler<Reply(Message...)> {
  using type = typename caf::replies_to<Message...>::template with<Reply>;
};

template <class... Message>
struct message_handler<void(Message...)> {
  using type = caf::reacts_to<Message...>;
};

} // namespace detail

/// One line of an actor's interface, written as a signature: `handles<vote(prepare)>`.
template <class Signature>
using handles = typename detail::message_handler<Signature>::type;

template <class... Handlers>
using typed_actor = caf::typed_actor<Handlers...>;

/// The answer that an actor owes. Where the actor ends before it gives one, or forgets it, whoever
/// asked hears so at once; CAF would let him wait.
template <class Reply>
class promise {
public:
  promise() = default;
  explicit promise(caf::typed_response_promise<Reply> owed)
      : owed_(std::make_shared<debt>(std::move(owed))) {}

  void deliver(Reply answer) const {
    owed_->to.deliver(std::move(answer));
  }

  /// Says that there is no answer.
  void give_up() const {
    owed_->to.deliver(caf::make_error(caf::sec::request_receiver_down));
  }

  bool pending() const {
    return owed_ && owed_->to.pending();
  }

  /// What a handler returns that answers later.
  operator caf::result<Reply>() const { // NOLINT: that is what it is for
    return owed_->to;
  }

private:
  struct debt {
    explicit debt(caf::typed_response_promise<Reply> owed) : to(std::move(owed)) {}
    debt(const debt&) = delete;
    debt& operator=(const debt&) = delete;

    /// May be on any thread, and when the actor is gone.
    ~debt() {
      const caf::response_promise& asked = to;
      if (asked.pending() && !asked.async())
        asked.next()->enqueue(nullptr, asked.id().response_id(),
                              caf::make_message(caf::make_error(caf::sec::request_receiver_down)),
                              nullptr);
    }

    caf::typed_response_promise<Reply> to;
  };

  std::shared_ptr<debt> owed_;
};

/// To be called in the handler of what is to be answered.
template <class Reply, class Self>
promise<Reply> promise_from(Self self) {
  return promise<Reply>{self->template make_response_promise<Reply>()};
}

/// What a request ends with when no answer came: the other side is gone, or did not answer in time.
inline absl::Status to_status(const caf::error& error) {
  if (error == caf::sec::request_receiver_down)
    return absl::UnavailableError(
      "the part of the server that was asked has ended, and is there again in a moment");
  if (error == caf::sec::request_timeout)
    return absl::UnavailableError("the part of the server that was asked has not answered in time");
  return absl::UnavailableError("no answer from an actor: " + caf::to_string(error.category()) + " "
                                + std::to_string(error.code()));
}

/// Why an actor ends that can't go on from what it has in memory; it begins anew from the store.
inline caf::error can_not_go_on(std::string why) {
  return caf::make_error(caf::sec::runtime_error, std::move(why));
}

/// What an actor ended with, for people.
inline std::string reason_of(const caf::error& end) {
  if (!end)
    return "it was done";
  if (const auto& context = end.context();
      !context.empty() && context.match_element<std::string>(0))
    return context.get_as<std::string>(0);
  return caf::to_string(end.category()) + " " + std::to_string(end.code());
}

/// Tells the time of day from an actor's clock, so that a test can turn it.
class wall_clock {
public:
  wall_clock() = default;
  explicit wall_clock(duration offset) : offset_(offset) {}

  /// Fits the clock of this process to its time of day, and again when the two part: an actor's
  /// clock stands still while the machine is suspended.
  static wall_clock of_this_process() {
    wall_clock made;
    made.follows_day_ = true;
    made.offset_ = day() - steady(caf::actor_clock::clock_type::now());
    return made;
  }

  template <class Actor>
  time_point now(Actor* self) const {
    const auto by_actor = steady(self->clock().now());
    if (follows_day_)
      if (const auto off = day() - (by_actor + offset_); off > most_apart || off < -most_apart)
        offset_ += off;
    return time_point{by_actor + offset_};
  }

private:
  static constexpr duration most_apart{std::chrono::seconds{1}};

  static duration day() {
    return std::chrono::duration_cast<duration>(
      std::chrono::system_clock::now().time_since_epoch());
  }
  static duration steady(caf::actor_clock::time_point at) {
    return std::chrono::duration_cast<duration>(at.time_since_epoch());
  }

  mutable duration offset_{0}; ///< each actor has a clock of its own
  bool follows_day_ = false;
};

/// Longest that one actor waits for another's answer.
inline constexpr std::chrono::seconds answer_time{10};

} // namespace reprieve

/// Lets a type travel in messages inside one process.
#define REPRIEVE_MESSAGE(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(type)

REPRIEVE_MESSAGE(absl::Status)
