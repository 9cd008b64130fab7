#pragma once

#include "protocol/access/tls_files.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace reprieve {

/// What a server of the API bears; each is an option of the daemon.
struct api_limits {
  std::int64_t connections = 10'000;               ///< open at a time
  std::int64_t connections_per_host = 5'000;       ///< likewise
  std::int64_t message_bytes = 16 << 20;           ///< of one request
  std::int64_t calls = 5000;                       ///< under way at a time, streams aside
  std::int64_t calls_per_client = 500;             ///< likewise
  std::int64_t streams = 1000;                     ///< open at a time
  std::int64_t streams_per_client = 100;           ///< likewise
  std::int64_t unread_bytes = 512 << 20;           ///< of answers that nobody has taken yet
  std::int64_t unread_bytes_per_client = 64 << 20; ///< likewise
  std::int64_t request_seconds = 30;               ///< that a request may take to come
  std::int64_t answer_seconds = 60;        ///< that a caller may take for a part of an answer
  std::int64_t requests_per_second = 1000; ///< of each client; 0 for as many as come
};

/// Who may reach an API, and what they may do there.
struct api_settings {
  tls_files tls;         ///< all empty: not encrypted; an authority asks clients for certificates
  std::string callers;   ///< file with tokens and roles; empty for none
  std::string audit;     ///< file for records of changing calls; empty for none
  bool insecure = false; ///< may be open to other machines without protection
  api_limits limits;
  std::function<void(const std::string&)> say = [](const std::string&) {}; ///< for the log
};

/// Whether callers have to say who they are; else everybody may do everything.
inline bool asks_who_calls(const api_settings& settings) {
  return !settings.callers.empty() || !settings.tls.authority.empty();
}

} // namespace reprieve
