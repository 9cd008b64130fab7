#pragma once

#include "actors/gateway/gateway.hpp"
#include "protocol/access/api_settings.hpp"

namespace CLI {
class App;
}

namespace reprieve {

/// The daemon's options about who may use its API, and how much.
void add_api_options(CLI::App& app, api_settings& api, gateway_limits& limits);

/// Lowers the most connections to what the system has descriptors for.
void fit_connections(api_limits& limits);

} // namespace reprieve
