#pragma once

#include <absl/status/status.h>

#include <string>

namespace reprieve {

/// Has the process go on as this user, with the user's groups and none of the rights from before.
/// To be called while there is one thread. The data directory is made where it is not there, and
/// given to the user where it is new.
absl::Status become(const std::string& user, const std::string& data);

} // namespace reprieve
