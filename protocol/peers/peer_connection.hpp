#pragma once

/// What both ends of a connection between processes of the cluster go by.
namespace reprieve::peer_connection {

/// A peer that does not answer to this is gone.
inline constexpr int ping_milliseconds = 1000;
inline constexpr int ping_timeout_milliseconds = 2000;

/// Under which who dials shows the secret of whom it dials.
inline constexpr const char* secret_header = "reprieve-secret";
/// Likewise its own name.
inline constexpr const char* name_header = "reprieve-replica";

} // namespace reprieve::peer_connection
