#pragma once

#include "apps/cli/output.hpp"
#include "protocol/client/api_client.hpp"
#include "state/model/requests.hpp"

#include <string>
#include <vector>

namespace reprieve::cli {

int apply(api_client& server, const std::vector<std::string>& files, bool dry_run, output as);
int get(api_client& server, const std::string& kind, const get_request& wanted, output as);
int describe(api_client& server, const std::string& kind, const std::string& name, output as);
int remove(api_client& server, const std::string& kind, std::vector<std::string> names,
           const std::vector<std::string>& files, bool force);
int explain(api_client& server, const std::string& subject, const std::string& name, output as);

struct heartbeat_options {
  std::string every; ///< a duration, to go on; empty for once
  bool last = false; ///< the agent ends
};
int heartbeat(api_client& server, const std::vector<std::string>& nodes,
              const heartbeat_options& options);

int events(api_client& server, bool follow, output as);

} // namespace reprieve::cli
