#pragma once

#include "actors/gateway/gateway.hpp"

namespace reprieve {

// The longer answers of the gateway: what became of an object and why. Like all reads they come
// with their age where nobody can say that they are the newest.

caf::result<describe_result> describe(gateway_actor::stateful_pointer<gateway_state> self,
                                      const describe_request& wanted);

caf::result<explain_result> explain(gateway_actor::stateful_pointer<gateway_state> self,
                                    const explain_request& wanted);

} // namespace reprieve
