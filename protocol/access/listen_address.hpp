#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

namespace reprieve {

/// The address without its port, and without the brackets that IPv6 needs before one.
std::string host_of(std::string_view address);

/// What an address counts for where each has a share: itself, or where it is of IPv6 its /64, as
/// one machine has as many addresses there as it likes. Also takes those in brackets, as gRPC
/// writes them.
std::string network_of(std::string_view host);

/// Whether only programs of this machine reach the address: `127.0.0.1:7420`, `localhost:0`,
/// `[::1]:7420`, `unix:/run/reprieve.sock`.
bool is_local(std::string_view address);

/// How an API is protected.
struct protection {
  bool encrypted = false;
  bool asks_who_calls = false; ///< by tokens or client certificates
  bool insecure = false;       ///< whoever runs it says that it may be open
};

/// Refuses to open what is not protected to other machines.
absl::Status check_exposure(std::string_view address, const protection& how);

} // namespace reprieve
