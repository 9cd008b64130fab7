#pragma once

#include "actors/gateway/gateway.hpp"

namespace reprieve {

// The longer answers of the gateway: what became of an object and why. Like all reads they come
// with their age where nobody can say that they are the newest.

caf::result<describe_result> describe(gateway_pointer self, const describe_request& wanted);

caf::result<explain_result> explain(gateway_pointer self, const explain_request& wanted);

} // namespace reprieve
