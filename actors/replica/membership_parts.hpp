#pragma once

#include "actors/replica/membership.hpp"

// What the files of the membership share.

namespace reprieve {

/// Comes back to what is under way.
void schedule_next_look(membership_pointer self);

/// The key of this replica's record.
std::string record_key(const membership_state& state);

/// The place is gone, and all that was owned by it. A new one is taken with a new lease, unless it
/// is gone for good.
void lose(membership_pointer self, std::string why, bool for_good = false);

/// What this replica owns by its record.
std::set<std::string> owned_now(const membership_state& state);

/// Sends the write of the record until its fate is known: whatever comes of earlier copies, at most
/// one of them counts.
void send_record(membership_pointer self);

/// What the store has by now is known: starts what is new and goes on.
void apply_own_record(membership_pointer self, revision at, std::set<std::string> owned);

/// Does what is due next, if nothing is under way.
void take_next_step(membership_pointer self);

/// Whether somebody else changed something: what this replica wrote it knows from its own answers.
bool is_news(const membership_state& state, const watch_batch& batch);

/// Reads all there is to know, at one revision.
void read_members(membership_pointer self);

} // namespace reprieve
