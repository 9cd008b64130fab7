#include "actors/gateway/gateway_backup.hpp"

#include "actors/gateway/gateway_routes.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <utility>

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

/// Few enough that the store is not kept from other work for long, also where they are chunks of
/// large decisions.
constexpr std::int64_t records_in_a_page = 64;

/// A store keeps its past for a while only.
absl::Status worded(const absl::Status& why) {
  if (!absl::IsOutOfRange(why))
    return why;
  return absl::OutOfRangeError(
    fmt::format("so much was written since the backup began that the store has forgotten the "
                "moment it is of; begin again ({})",
                std::string(why.message())));
}

/// Asks the store; a failure is the answer to `answer`, else `then` goes on with what was read.
template <class F>
void ask_store(self_pointer self, range_request wanted, promise<backup_page_result> answer,
               F then) {
  self->request(self->state.serving->store, answer_time, std::move(wanted))
    .then(
      [answer, then](range_answer& found) mutable {
        if (found.ok())
          then(*found);
        else
          answer.deliver(backup_page_result(worded(found.status())));
      },
      [answer](caf::error& error) mutable {
        answer.deliver(backup_page_result(to_status(error)));
      });
}

backup_page page_of(backup_header about, range_result& found) {
  backup_page page{std::move(about), {}, {}, found.more};
  if (!found.values.empty())
    page.last = found.values.back().key;
  for (auto& one : found.values)
    if (!one.key.starts_with(keys::owners))
      page.records.push_back({std::move(one.key), std::move(one.value)});
  return page;
}

void read_page(self_pointer self, const std::string& after, backup_header about,
               promise<backup_page_result> answer) {
  auto range = with_prefix({});
  if (!after.empty())
    range.begin = after + '\0';
  ask_store(self, range_request{range, records_in_a_page, about.at, false}, answer,
            [answer, about](range_result& found) mutable {
              answer.deliver(backup_page_result(page_of(about, found)));
            });
}

} // namespace

caf::result<backup_page_result> read_backup(self_pointer self, backup_page_request wanted) {
  if (!self->state.serving)
    return backup_page_result(starting());
  auto answer = promise_from<backup_page_result>(self);
  const auto& schema = self->state.serving->schema;
  backup_header about{schema.version, schema.cluster, no_time, wanted.at};
  if (wanted.at != 0) {
    read_page(self, wanted.after, std::move(about), answer);
    return answer;
  }
  // Any read tells the newest revision, and from then on all pages are of that one.
  ask_store(self, range_request{just(std::string(keys::schema)), 1, 0, true}, answer,
            [self, answer, about](range_result& found) mutable {
              about.at = found.current;
              read_page(self, {}, about, answer);
            });
  return answer;
}

} // namespace reprieve
