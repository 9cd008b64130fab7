#pragma once

#include "protocol/limits/fair_share.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace reprieve {

/// Who may do something now that only so many may do at a time, in all and of each client; the
/// others wait, first come, first served among those of one client, and the clients by turns. The
/// last turns are for clients that have few, see `fair_share`.
class turns {
public:
  /// Whoever has it has the turn; may outlive the turns.
  using ticket = std::shared_ptr<void>;
  using starter = std::function<void(ticket)>;

  turns(std::size_t most, std::size_t most_per_client)
      : line_(std::make_shared<line>(most, most_per_client)) {}

  /// Calls `start` when it is the client's turn: now, or later on the thread of whoever gives a
  /// turn back.
  void take(const std::string& client, starter start) {
    line_->add(client, std::move(start));
    line_->start_next();
  }

private:
  class line : public std::enable_shared_from_this<line> {
  public:
    line(std::size_t most, std::size_t most_per_client)
        : most_per_client_(most_per_client), share_{static_cast<std::int64_t>(most),
                                                    static_cast<std::int64_t>(most_per_client)} {}

    void add(const std::string& client, starter start);
    /// Starts those whose turn it is, unless somebody else does: one who gives a turn back at once
    /// does not start the next from within.
    void start_next();

  private:
    struct of_client {
      std::size_t started = 0;
      std::deque<starter> waiting;
    };

    using known_client = std::pair<const std::string, of_client>;

    /// The next one to start, with its client; nothing where nobody may.
    starter next(std::string& client);
    void give_back(const std::string& client);
    /// Whether there is a turn for one more of the client's.
    bool may_start(const known_client* one) const;

    const std::size_t most_per_client_;
    const fair_share share_;
    std::mutex mutex_;
    bool going_on_ = false; ///< somebody starts those whose turn it is
    std::size_t started_ = 0;
    std::map<std::string, of_client> clients_;
    /// Clients that have somebody waiting, each as often as it may start one.
    std::deque<known_client*> in_turn_;
  };

  std::shared_ptr<line> line_;
};

} // namespace reprieve
