#pragma once

#include "state/model/caller.hpp"
#include "state/quantities/time.hpp"

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>

namespace reprieve {

/// Who may call the API, from a text with one caller on each line:
///
///     # name   role       rest
///     alice    admin      sha256=9f86d081…
///     ci       submitter  queues=train,eval  until=2027-01-01T00:00:00Z  sha256=60303ae2…
///     demo     viewer     token=sixteen-characters-at-least
///     ops      operator   certificate
///
/// `sha256=` is that of a token, `token=` the token itself; `certificate` gives the role to the
/// client certificate of that common name, in place of the one that the certificate tells. The role
/// `none` shuts somebody out. Submitters have `queues=`, where `*` is every queue.
class caller_file {
public:
  struct entry {
    caller who;
    time_point until = no_time; ///< after which it is not taken any more
  };

  /// What is wrong is told with the number of its line. A text that names nobody is wrong, too: it
  /// is rather one that was cut off than one that is to shut everybody out.
  static absl::StatusOr<caller_file> parse(std::string_view text);

  /// Whose token this is, or null.
  const entry* by_token(std::string_view token) const;

  /// Who shows a certificate with this common name, or null.
  const entry* by_certificate(std::string_view common_name) const;

  /// When the next of them is not taken any more that is at `now`; `no_time` where all are for
  /// ever.
  time_point next_end(time_point now) const;

private:
  absl::Status take_line(std::string_view line);

  std::map<std::string, entry, std::less<>> by_digest_;
  std::map<std::string, entry, std::less<>> by_common_name_;
};

} // namespace reprieve
