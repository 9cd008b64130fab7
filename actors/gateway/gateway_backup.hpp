#pragma once

#include "actors/gateway/gateway.hpp"

namespace reprieve {

/// Reads the next page of a backup: all that the store held at one revision, but for the records of
/// living processes.
caf::result<backup_page_result> read_backup(gateway_pointer self, backup_page_request wanted);

} // namespace reprieve
