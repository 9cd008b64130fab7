#include "actors/durability/decision_archive.hpp"

#include "protocol/records/records.hpp"
#include "state/admission/admission_rules.hpp"
#include "state/records/keys.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace reprieve {

namespace {

constexpr std::int64_t page_size = 2000;
/// Of one workload's decisions, where each has to be read to know whether it is meant.
constexpr std::int64_t most_looked_at = 200;

bool names_any(const std::vector<std::string>& names, const std::vector<std::string>& wanted) {
  return std::ranges::find_first_of(names, wanted) != names.end();
}

/// One that may be meant.
struct candidate {
  std::string id;
  time_point decided = no_time; ///< in whole seconds
  std::optional<decision> head; ///< where it is not a finished one of the archive
};

/// Whether `a` is the newer one.
bool is_newer(const candidate& a, const candidate& b) {
  return a.decided != b.decided ? a.decided > b.decided : a.id > b.id;
}

/// A search, under way. It goes the way that decisions go, from the open ones to the archive, so
/// that it meets those that move meanwhile.
class decision_search : public std::enable_shared_from_this<decision_search> {
public:
  decision_search(range_reader read, decisions_wanted wanted,
                  std::function<void(absl::StatusOr<decisions_found>)> done)
      : read_(std::move(read)), wanted_(std::move(wanted)), done_(std::move(done)) {}

  void begin() {
    auto open = wanted_.id.empty() ? with_prefix(std::string(keys::open_decisions))
                                   : just(keys::open_decision(wanted_.id));
    read_heads(std::move(open), [this] {
      read_heads(with_prefix(std::string(keys::done_decisions)), [this] { read_index(); });
    });
  }

private:
  /// Reads, and passes a good answer on. Whoever reads keeps the search alive.
  template <class F>
  void ask(range_request wanted, F then) {
    read_(std::move(wanted), [me = shared_from_this(), then](range_answer answer) {
      if (answer.ok())
        then(*std::move(answer));
      else
        me->end(answer.status());
    });
  }

  /// Takes the heads in the range that are meant, page by page.
  void read_heads(key_range range, std::function<void()> then) {
    ask({range, page_size, 0, false}, [this, range, then](const range_result& page) {
      for (const auto& one : page.values)
        if (auto head = decode<decision_head>(one.value); head.ok() && is_meant(*head))
          add_head(std::move(head->summary));
      if (page.more)
        read_heads({page.values.back().key + '\0', range.end}, then);
      else
        then();
    });
  }

  bool is_meant(const decision_head& head) const {
    if (!wanted_.id.empty())
      return head.summary.id == wanted_.id;
    return names_any(head.summary.workloads, wanted_.workloads)
           || names_any(head.evicted, wanted_.workloads);
  }

  candidate& add(const std::string& id, time_point decided) {
    auto& one = candidates_[id];
    one.id = id;
    one.decided = std::chrono::floor<std::chrono::seconds>(decided);
    return one;
  }

  void add_head(decision head) {
    auto& one = add(head.id, head.decided);
    one.head = std::move(head);
  }

  void read_index() {
    if (!wanted_.id.empty()) {
      if (!candidates_.contains(wanted_.id))
        add(wanted_.id, no_time);
      read_archive();
      return;
    }
    if (wanted_.workloads.empty()) {
      read_archive();
      return;
    }
    under_way_ = wanted_.workloads.size();
    const auto limit = wanted_.fine ? most_looked_at : static_cast<std::int64_t>(wanted_.most);
    for (const auto& workload : wanted_.workloads)
      ask({with_prefix(keys::decisions_of(workload)), limit, 0, true},
          [this](const range_result& page) {
            for (const auto& one : page.values)
              add(std::string(keys::last_part(one.key)), keys::decided_of(one.key));
            found_.more = found_.more || page.more;
            if (--under_way_ == 0)
              read_archive();
          });
  }

  void read_archive() {
    ask({just(std::string(keys::archive)), 0, 0, false}, [this](const range_result& found) {
      if (!found.values.empty())
        if (auto record = decode<archive_record>(found.values.front().value); record.ok())
          found_.archive = *record;
      for (auto& [id, one] : candidates_)
        left_.push_back(std::move(one));
      std::ranges::sort(left_, [](const auto& a, const auto& b) { return is_newer(b, a); });
      read_bodies();
    });
  }

  /// Reads the newest of those that are left whole, as many at a time as may be wanted.
  void read_bodies() {
    const auto missing = wanted_.most - found_.decisions.size();
    if (left_.empty() || missing == 0) {
      found_.more = found_.more || !left_.empty();
      end(std::move(found_));
      return;
    }
    const auto count = std::min(missing, left_.size());
    const auto whole = std::make_shared<std::vector<std::optional<decision>>>(count);
    under_way_ = count;
    for (std::size_t i = 0; i < count; ++i) {
      auto one = std::move(left_.back());
      left_.pop_back();
      const auto bodies = with_prefix(keys::bodies_of(one.id));
      ask({bodies, 0, 0, false}, [this, i, whole, one](const range_result& chunks) {
        (*whole)[i] = put_together(one, chunks.values);
        if (--under_way_ > 0)
          return;
        for (auto& each : *whole)
          if (each && (!wanted_.fine || wanted_.fine(*each)))
            found_.decisions.push_back(*std::move(each));
        read_bodies();
      });
    }
  }

  /// The decision as it is by now, without what pods bring with them; nothing where it is let go
  /// meanwhile.
  static std::optional<decision> put_together(const candidate& one,
                                              const std::vector<key_value>& chunks) {
    auto whole = one.head;
    if (!chunks.empty() && keys::is_finished_head(chunks.back().key))
      if (auto head = decode<decision_head>(chunks.back().value); head.ok())
        whole = std::move(head->summary);
    if (!whole)
      return std::nullopt;
    for (const auto& chunk : chunks)
      if (keys::is_finished_head(chunk.key) || !add_body(*whole, chunk.value).ok())
        break;
    for (auto& each : whole->assignments) {
      each.placed.labels.clear();
      each.placed.annotations.clear();
    }
    return whole;
  }

  void end(absl::StatusOr<decisions_found> how) {
    if (auto done = std::exchange(done_, nullptr))
      done(std::move(how));
  }

  range_reader read_;
  decisions_wanted wanted_;
  std::function<void(absl::StatusOr<decisions_found>)> done_;
  std::map<std::string, candidate> candidates_;
  std::vector<candidate> left_; ///< to be looked at, the newest last
  std::size_t under_way_ = 0;   ///< reads
  decisions_found found_;
};

} // namespace

void find_decisions(range_reader read, decisions_wanted wanted,
                    std::function<void(absl::StatusOr<decisions_found>)> done) {
  std::make_shared<decision_search>(std::move(read), std::move(wanted), std::move(done))->begin();
}

std::vector<std::string> possible_owners(const std::string& pod) {
  // Whoever asks may write anything; no workload has a longer name.
  std::vector<std::string> names;
  for (auto end = pod.find('-'); end <= rules::longest_label; end = pod.find('-', end + 1))
    if (end > 0)
      names.push_back(pod.substr(0, end));
  return names;
}

} // namespace reprieve
