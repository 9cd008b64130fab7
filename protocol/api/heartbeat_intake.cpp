#include "protocol/api/heartbeat_intake.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

/// Heartbeats come every few seconds from each node: nobody notices such a delay.
constexpr std::chrono::milliseconds gathering_time{100};

/// One call.
struct waiting_call {
  heartbeat_request alive;
  heartbeat_intake::answer done;
};

/// The first heartbeat after a while has come; and the moment to gather more is over.
struct begin_gathering {};
struct end_gathering {};

/// Answers each call with those of its nodes that are not known.
void answer_all(const std::vector<waiting_call>& calls, const heartbeat_result& all) {
  std::unordered_set<std::string_view> unknown_of_all;
  if (all.ok())
    unknown_of_all.insert(all->begin(), all->end());
  for (const auto& call : calls) {
    if (!all.ok() || all->empty()) {
      call.done(all);
      continue;
    }
    std::vector<std::string> unknown;
    std::ranges::copy_if(call.alive.nodes, std::back_inserter(unknown),
                         [&](const std::string& name) { return unknown_of_all.contains(name); });
    call.done(heartbeat_result(std::move(unknown)));
  }
}

} // namespace

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::begin_gathering)
REPRIEVE_MESSAGE(reprieve::end_gathering)

namespace reprieve {

struct heartbeat_intake::gathered {
  using intake_actor = typed_actor<handles<void(begin_gathering)>, handles<void(end_gathering)>>;

  std::mutex mutex;
  std::vector<waiting_call> calls;
  intake_actor intake;
  gateway_actor gateway;

  /// All calls that wait.
  std::vector<waiting_call> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(calls, {});
  }

  /// Passes on those of them whose agents go on, or those whose agents end.
  void pass_on(intake_actor::pointer self, std::vector<waiting_call> some, bool last) const {
    if (some.empty())
      return;
    heartbeat_request all;
    all.last = last;
    for (const auto& one : some)
      all.nodes.insert(all.nodes.end(), one.alive.nodes.begin(), one.alive.nodes.end());
    const auto calls = std::make_shared<std::vector<waiting_call>>(std::move(some));
    self->request(gateway, answer_time, std::move(all))
      .then([calls](const heartbeat_result& result) { answer_all(*calls, result); },
            [calls](const caf::error& error) {
              answer_all(*calls, heartbeat_result(to_status(error)));
            });
  }

  static intake_actor::behavior_type behave(intake_actor::pointer self,
                                            const std::shared_ptr<gathered>& shared) {
    return {
      [self](begin_gathering) { self->delayed_send(self, gathering_time, end_gathering{}); },
      [self, shared](end_gathering) {
        auto calls = shared->take();
        const auto ending = std::stable_partition(
          calls.begin(), calls.end(), [](const waiting_call& one) { return !one.alive.last; });
        std::vector<waiting_call> last(std::make_move_iterator(ending),
                                       std::make_move_iterator(calls.end()));
        calls.erase(ending, calls.end());
        shared->pass_on(self, std::move(calls), false);
        shared->pass_on(self, std::move(last), true);
      },
    };
  }
};

heartbeat_intake::heartbeat_intake(caf::actor_system& system, gateway_actor gateway)
    : gathered_(std::make_shared<gathered>()) {
  gathered_->gateway = std::move(gateway);
  gathered_->intake = system.spawn(gathered::behave, gathered_);
}

heartbeat_intake::~heartbeat_intake() {
  caf::anon_send_exit(gathered_->intake, caf::exit_reason::user_shutdown);
}

void heartbeat_intake::add(heartbeat_request alive, answer done) {
  const std::lock_guard lock(gathered_->mutex);
  gathered_->calls.push_back({std::move(alive), std::move(done)});
  if (gathered_->calls.size() == 1)
    caf::anon_send(gathered_->intake, begin_gathering{});
}

} // namespace reprieve
