#include "actors/durability/archive_keeper.hpp"
#include "actors/durability/store_reading.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

// What a store holds that a version before 5 has written. Its finished decisions have no index, and
// chunks of decisions that were never committed have no draft.

namespace reprieve {

namespace {

using self_pointer = archive_keeper_pointer;

constexpr std::int64_t page_size = 1000;
constexpr std::int64_t chunks_at_once = 10'000;

// -- finished decisions ---------------------------------------------------------------------------

/// Writes that belong together, in parts that fit one transaction each.
void write_in_parts(self_pointer self, std::vector<operation> writes, const next_step& then) {
  constexpr std::size_t most = 120;
  const auto part = writes.begin() + static_cast<std::ptrdiff_t>(std::min(most, writes.size()));
  std::vector<operation> some{std::make_move_iterator(writes.begin()),
                              std::make_move_iterator(part)};
  writes.erase(writes.begin(), part);
  write_for(self, std::move(some), [self, writes = std::move(writes), then] {
    if (writes.empty())
      then();
    else
      write_in_parts(self, writes, then);
  });
}

/// What moves a finished decision whose chunks have `body_bytes`. Its old key goes last, so that
/// who stops in between begins with it again.
std::vector<operation> move_of(const key_value& done, std::int64_t body_bytes) {
  std::vector<operation> writes;
  if (const auto head = decode<decision_head>(done.value); head.ok()) {
    const auto entry = entry_of(*head, body_bytes + std::ssize(done.value));
    writes = index_writes(entry);
    writes.emplace_back(put{keys::finished_head(entry.id), done.value, 0});
    writes.emplace_back(put{keys::ended_decision(entry.ended, entry.id), encode(entry.what), 0});
  }
  writes.emplace_back(erase{just(done.key)});
  return writes;
}

/// A page of them, and what moves those that were looked at.
struct moving {
  std::vector<key_value> page;
  std::size_t next = 0;
  std::vector<operation> writes;
};

/// Looks how large the next ones are, and moves as many as fit one transaction.
void move_page(self_pointer self, const std::shared_ptr<moving>& now, const next_step& then) {
  constexpr std::size_t enough = 100;
  if (now->next == now->page.size() || now->writes.size() >= enough) {
    if (now->writes.empty())
      then();
    else
      write_in_parts(self, std::exchange(now->writes, {}),
                     [self, now, then] { move_page(self, now, then); });
    return;
  }
  const auto id = std::string(keys::last_part(now->page[now->next].key));
  read_for(self, {with_prefix(keys::bodies_of(id)), 0, 0, false},
           [self, now, then](const range_result& chunks) {
             std::int64_t bytes = 0;
             for (const auto& chunk : chunks.values)
               if (!keys::is_finished_head(chunk.key))
                 bytes += std::ssize(chunk.value);
             std::ranges::move(move_of(now->page[now->next++], bytes),
                               std::back_inserter(now->writes));
             move_page(self, now, then);
           });
}

void move_finished(self_pointer self, const next_step& then) {
  read_for(self, {with_prefix(std::string(keys::done_decisions)), page_size, 0, false},
           [self, then](range_result page) {
             if (page.values.empty()) {
               then();
               return;
             }
             const auto now = std::make_shared<moving>();
             now->page = std::move(page.values);
             move_page(self, now, [self, then] { move_finished(self, then); });
           });
}

// -- chunks of decisions that were never committed ------------------------------------------------

/// Decisions by their chunks, in the order of keys.
struct chunk_search {
  std::vector<std::string> unfinished;
  std::string last;
  bool is_finished = true; ///< the last one

  void see(std::string_view key) {
    const auto id = keys::decision_of_body(key);
    if (id != last) {
      end();
      last = id;
      is_finished = false;
    }
    is_finished = is_finished || keys::is_finished_head(key);
  }

  void end() {
    if (!std::exchange(is_finished, true))
      unfinished.push_back(last);
  }
};

/// Erases the chunks of decisions that have no key of any kind.
void erase_orphans(self_pointer self, const next_step& then) {
  auto& state = self->state;
  if (state.orphans->empty()) {
    auto record = state.record;
    record.settled = true;
    write_for(self, {put{std::string(keys::archive), encode(record), 0}}, [self, record, then] {
      self->state.record = record;
      self->state.orphans.reset();
      then();
    });
    return;
  }
  const auto id = std::move(state.orphans->back());
  state.orphans->pop_back();
  transaction erased{{state.settings.owner->held(),
                      {keys::open_decision(id), compared::modified, 0},
                      {keys::draft(id), compared::modified, 0},
                      {keys::finished_head(id), compared::modified, 0}},
                     {erase{with_prefix(keys::bodies_of(id))}}};
  self->request(state.settings.store, caf::infinite, std::move(erased))
    .then(
      [self, id, then](transaction_answer& answer) {
        if (answer.ok()) { // else it has a key by now, and is somebody's
          erase_orphans(self, then);
          return;
        }
        self->state.orphans->push_back(id);
        rest(self);
      },
      [self](caf::error&) { rest(self); });
}

/// Of the decisions that are not finished, those are nobody's that are neither open nor drafts.
/// They are erased when the keeper comes back: what had ended by now as earlier versions end it is
/// moved before that, and not taken for theirs.
void leave_out_others(self_pointer self, const std::shared_ptr<chunk_search>& search,
                      const next_step& then) {
  read_all(self, self->state.settings.store,
           {std::string(keys::drafts), std::string(keys::open_decisions)},
           [self, search, then](absl::StatusOr<key_values> found) {
             if (!found.ok()) {
               rest(self);
               return;
             }
             for (const auto& one : *found)
               std::erase(search->unfinished, keys::last_part(one.key));
             self->state.orphans = std::move(search->unfinished);
             if (self->state.orphans->empty())
               erase_orphans(self, then);
             else
               rest(self);
           });
}

void search_chunks(self_pointer self, const std::shared_ptr<chunk_search>& search,
                   const std::string& from, const next_step& then) {
  const auto end = with_prefix(std::string(keys::decision_bodies)).end;
  read_for(self, {{from, end}, chunks_at_once, 0, true},
           [self, search, then](const range_result& page) {
             for (const auto& one : page.values)
               search->see(one.key);
             if (page.more) {
               search_chunks(self, search, page.values.back().key + '\0', then);
               return;
             }
             search->end();
             leave_out_others(self, search, then);
           });
}

} // namespace

void settle_archive(self_pointer self, next_step then) {
  // Also later: a replica may learn of the version after it is in force.
  move_finished(self, [self, then = std::move(then)] {
    if (self->state.record.settled) {
      then();
      return;
    }
    if (self->state.orphans)
      erase_orphans(self, then);
    else
      search_chunks(self, std::make_shared<chunk_search>(), std::string(keys::decision_bodies),
                    then);
  });
}

} // namespace reprieve
