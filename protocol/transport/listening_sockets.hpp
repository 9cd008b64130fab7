#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

namespace reprieve {

/// Sockets that listen at one address, which may stand for several: a name with addresses of both
/// kinds, or a path behind `unix:`.
class listening_sockets {
public:
  /// `address` is host and port; port 0 takes a free one. The error says why it can't be had.
  static absl::StatusOr<listening_sockets> open(const std::string& address);

  listening_sockets(listening_sockets&& other) noexcept;
  listening_sockets& operator=(listening_sockets&& other) noexcept;
  ~listening_sockets();

  const std::vector<int>& descriptors() const {
    return descriptors_;
  }

  /// With the port that was taken.
  const std::string& address() const {
    return address_;
  }

private:
  listening_sockets() = default;

  absl::Status open_path(const std::string& path);
  absl::Status open_host(const std::string& host, const std::string& port);

  std::vector<int> descriptors_;
  std::string address_;
};

} // namespace reprieve
