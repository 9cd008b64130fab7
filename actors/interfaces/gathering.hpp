#pragma once

#include "actors/caf.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace reprieve {

/// Gathers the answers to requests that are sent together; calls `done` with the first that is not
/// ok, or with ok, when all are there. Each is waited for up to `time`.
class gathering {
public:
  explicit gathering(std::function<void(absl::Status)> done,
                     caf::duration time = caf::duration{answer_time})
      : shared_(std::make_shared<shared>(shared{1, absl::OkStatus(), std::move(done)})),
        time_(time) {}

  template <class Self, class Handle, class Message>
  void ask(Self self, const Handle& whom, Message message) {
    ask_for<absl::Status>(self, whom, std::move(message),
                          [](const absl::Status& answer) { return answer; });
  }

  /// Likewise where an answer says more than a status; `add_answer` makes a status of it.
  template <class Answer, class Self, class Handle, class Message, class F>
  void ask_for(Self self, const Handle& whom, Message message, F add_answer) {
    ++shared_->open;
    self->request(whom, time_, std::move(message))
      .then([all = shared_, add_answer](Answer& answer) { take(*all, add_answer(answer)); },
            [all = shared_](caf::error& error) { take(*all, to_status(error)); });
  }

  /// To be called when all requests are sent.
  void complete() {
    take(*shared_, absl::OkStatus());
  }

private:
  struct shared {
    std::size_t open;
    absl::Status worst;
    std::function<void(absl::Status)> done;
  };

  static void take(shared& all, const absl::Status& answer) {
    all.worst.Update(answer);
    if (--all.open == 0)
      all.done(all.worst);
  }

  std::shared_ptr<shared> shared_;
  caf::duration time_;
};

} // namespace reprieve
