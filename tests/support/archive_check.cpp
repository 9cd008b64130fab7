#include "tests/support/archive_check.hpp"

#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace reprieve {

namespace {

class archive_check {
public:
  explicit archive_check(const std::vector<key_value>& all) {
    for (const auto& one : all)
      take(one);
    for (const auto& [id, entry] : entries_)
      check(id, entry);
    for (const auto& [id, head] : finished_)
      if (!entries_.contains(id))
        complain("{} is finished, and nothing says when it ended", id);
    for (const auto& id : with_chunks_)
      if (!finished_.contains(id) && !open_.contains(id) && !done_.contains(id))
        complain("{} has chunks, and is neither open nor finished", id);
    for (const auto& key : index_)
      if (!open_.contains(std::string(keys::last_part(key))))
        complain("{} leads to nothing", key);
    for (const auto& [hour, total] : totals_)
      if (total != sums_[hour])
        complain("hour {} has {} decisions of {} bytes, and its total says {} of {}", hour,
                 sums_[hour].count, sums_[hour].bytes, total.count, total.bytes);
  }

  std::vector<std::string> faults;

private:
  template <class... Args>
  void complain(fmt::format_string<Args...> text, Args&&... args) {
    faults.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void take(const key_value& one) {
    const std::string name(keys::last_part(one.key));
    if (one.key.starts_with(keys::open_decisions)) {
      open_.insert(name);
    } else if (one.key.starts_with(keys::done_decisions)) {
      done_.insert(name);
    } else if (one.key.starts_with(keys::decision_bodies)) {
      const std::string id(keys::decision_of_body(one.key));
      if (keys::is_finished_head(one.key)) {
        finished_[id] = one.value;
      } else {
        with_chunks_.insert(id);
        ++chunks_[id];
      }
      content_[id] += std::ssize(one.value);
    } else if (one.key.starts_with(keys::ended_decisions)) {
      const auto what = decode<archived_decision>(one.value);
      if (!what.ok())
        complain("{} can't be read", one.key);
      else if (!entries_.emplace(name, archive_entry{name, keys::end_of(one.key), *what}).second)
        complain("{} has ended twice", name);
    } else if (one.key.starts_with(keys::archive_hours)) {
      totals_[keys::hour_of_archive(one.key)] =
        decode<archive_total>(one.value).value_or(archive_total{-1, -1});
    } else if (one.key.starts_with(keys::drafts)) {
      complain("{} is there, and nobody writes", one.key);
    } else if (one.key.starts_with("d/of/")) {
      index_.insert(one.key);
    }
  }

  void check(const std::string& id, const archive_entry& entry) {
    auto& sum = sums_[hour_of(entry.ended)];
    ++sum.count;
    sum.bytes += entry.what.bytes;
    for (const auto& workload : entry.what.workloads)
      if (index_.erase(keys::decision_of(workload, entry.what.decided, id)) == 0)
        complain("{} can't be found by {}", id, workload);
    if (open_.contains(id))
      complain("{} has ended, and is open", id);
    const auto head = finished_.find(id);
    if (head == finished_.end()) {
      complain("{} has ended, and has no head", id);
      return;
    }
    const auto read = decode<decision_head>(head->second);
    if (!read.ok() || read->chunks != chunks_[id])
      complain("{} has {} chunks", id, chunks_[id]);
    else if (const auto expected = entry_of(*read, content_[id]); expected != entry)
      complain("{} is not entered as what it is: {} bytes, not {}", id, entry.what.bytes,
               expected.what.bytes);
  }

  std::set<std::string> open_;
  std::set<std::string> done_; ///< of earlier versions, and not moved yet
  std::set<std::string> with_chunks_;
  std::map<std::string, std::string> finished_;
  std::map<std::string, std::uint32_t> chunks_;
  std::map<std::string, std::int64_t> content_;
  std::map<std::string, archive_entry> entries_;
  std::set<std::string> index_;
  std::map<std::int64_t, archive_total> totals_;
  std::map<std::int64_t, archive_total> sums_;
};

} // namespace

std::vector<std::string> faults_of_archive(const std::vector<key_value>& all) {
  return archive_check(all).faults;
}

} // namespace reprieve
