#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>

namespace reprieve {

/// Has the process go on as this user, where one is given, with the user's groups and none of the
/// rights from before; `say` is told where it goes on as root. To be called while there is one
/// thread. The data directory is made where it is not there, and given to the user where it is new.
absl::Status give_up_rights(const std::string& user, const std::string& data,
                            const std::function<void(const std::string&)>& say);

} // namespace reprieve
