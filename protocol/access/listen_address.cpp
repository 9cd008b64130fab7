#include "protocol/access/listen_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace reprieve {

std::string host_of(std::string_view address) {
  if (const auto closing = address.find(']'); address.starts_with('[') && closing != address.npos)
    return std::string(address.substr(1, closing - 1));
  const auto colon = address.rfind(':');
  // More than one colon is an IPv6 address without a port.
  return std::string(address.find(':') == colon ? address.substr(0, colon) : address);
}

std::string network_of(std::string_view host) {
  auto plain = host;
  for (const std::string_view bracket : {"%5B", "["})
    if (plain.starts_with(bracket))
      plain.remove_prefix(bracket.size());
  in6_addr six{};
  if (inet_pton(AF_INET6, std::string(plain.substr(0, plain.find_first_of("%]"))).c_str(), &six)
      != 1)
    return std::string(host);
  std::array<char, INET6_ADDRSTRLEN> text{};
  constexpr std::size_t own_bytes = 8;
  constexpr std::size_t ipv4_bytes = 4;
  auto& bytes = six.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&six))
    return inet_ntop(AF_INET, std::end(bytes) - ipv4_bytes, text.data(), text.size());
  const bool here = IN6_IS_ADDR_LOOPBACK(&six);
  if (!here)
    std::fill_n(std::end(bytes) - own_bytes, own_bytes, std::uint8_t{0});
  inet_ntop(AF_INET6, &six, text.data(), text.size());
  return fmt::format("{}{}", text.data(), here ? "" : "/64");
}

bool is_local(std::string_view address) {
  if (address.starts_with("unix:"))
    return true;
  const auto host = host_of(address);
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1)
    return (ntohl(four.s_addr) >> 24U) == 127;
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1)
    return IN6_IS_ADDR_LOOPBACK(&six);
  return host == "localhost";
}

absl::Status check_exposure(std::string_view address, const protection& how) {
  if (how.insecure || is_local(address) || (how.encrypted && how.asks_who_calls))
    return absl::OkStatus();
  std::string_view missing = "--tls-cert and --tls-key, and --tokens or --tls-ca";
  std::string_view risk = "anybody who reaches it could do anything";
  if (how.encrypted) {
    missing = "--tokens or --tls-ca";
  } else if (how.asks_who_calls) {
    missing = "--tls-cert and --tls-key";
    risk = "tokens would travel where others can read them";
  }
  return absl::InvalidArgumentError(
    fmt::format("--listen {} is reached from other machines, and {}; give {}, or listen on "
                "127.0.0.1, or say --insecure",
                address, risk, missing));
}

} // namespace reprieve
