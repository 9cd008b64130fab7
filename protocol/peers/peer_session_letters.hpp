#pragma once

#include "protocol/peers/peer_session.hpp"

namespace reprieve {

/// Hands what the letter says to the actor that it is for, or says why not.
void receive_letter(peer_session_pointer self, peer_envelope& letter);

/// The epoch that the letter speaks of beside its own; 0 where it speaks of none.
revision epoch_inside(const peer_envelope& letter);

} // namespace reprieve
