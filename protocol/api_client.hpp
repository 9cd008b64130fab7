#pragma once

#include "state/requests.hpp"

#include <absl/status/status.h>

#include <functional>
#include <memory>
#include <string>

namespace reprieve {

/// The API as a program calls it; every call waits for its answer.
class api_client {
public:
  /// For a server at `address`, such as `127.0.0.1:7420`. Connects with the first call.
  explicit api_client(const std::string& address);
  ~api_client();
  api_client(api_client&&) noexcept;
  api_client& operator=(api_client&&) noexcept;

  apply_result apply(const apply_request& wanted);
  get_result get(const get_request& wanted);
  describe_result describe(const describe_request& wanted);
  absl::Status remove(const delete_request& wanted);
  explain_result explain(const explain_request& wanted);

  /// Calls `each` with the events after `after`; with `follow` also with new ones, until it returns
  /// false or the server ends.
  absl::Status events(std::int64_t after, bool follow,
                      const std::function<bool(const event&)>& each);

private:
  struct connection;
  std::unique_ptr<connection> connection_;
};

} // namespace reprieve
