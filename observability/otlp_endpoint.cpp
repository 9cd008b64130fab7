#include "observability/otlp_endpoint.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace reprieve {

namespace {

constexpr auto npos = std::string_view::npos;

struct url_parts {
  std::string_view scheme;
  std::string_view host;
  std::string_view port;
  std::string_view path;
};

bool is_port(std::string_view text) {
  int port = 0;
  const auto* end = text.data() + text.size();
  return std::from_chars(text.data(), end, port).ptr == end && port > 0 && port <= 65535;
}

bool is_host(std::string_view text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789.-_:[]";
  return !text.empty() && text.find_first_not_of(letters) == npos
         && text.starts_with('[') == text.ends_with(']');
}

std::optional<url_parts> split(std::string_view text) {
  url_parts parts;
  if (const auto end = text.find("://"); end != npos) {
    parts.scheme = text.substr(0, end);
    if (parts.scheme != "http" && parts.scheme != "https")
      return std::nullopt;
    text.remove_prefix(end + 3);
  }
  const auto authority = text.substr(0, text.find('/'));
  parts.path = text.substr(authority.size());
  // An IPv6 address has colons of its own, within brackets.
  const auto colon = authority.find(':', authority.starts_with('[') ? authority.find(']') : 0);
  parts.host = authority.substr(0, colon);
  if (colon != npos)
    parts.port = authority.substr(colon + 1);
  if (!is_host(parts.host) || (colon != npos && !is_port(parts.port))
      || parts.path.find_first_of(" \t\r\n") != npos)
    return std::nullopt;
  return parts;
}

absl::Status refused(std::string_view text, std::string_view protocol, std::string_view example) {
  return absl::InvalidArgumentError(
    fmt::format("the tracing endpoint \"{}\" is not an address for OTLP over {}; "
                "one looks like {}",
                text, protocol, example));
}

} // namespace

absl::StatusOr<grpc_endpoint> parse_grpc_endpoint(std::string_view text) {
  const auto url = split(text);
  if (!url || url->port.empty() || url->path.size() > 1)
    return refused(text, "gRPC", "http://collector:4317");
  return grpc_endpoint{fmt::format("{}:{}", url->host, url->port), url->scheme == "https"};
}

absl::StatusOr<std::string> parse_http_endpoint(std::string_view text) {
  const auto url = split(text);
  if (!url || url->scheme.empty())
    return refused(text, "HTTP", "http://collector:4318");
  if (url->path.size() > 1)
    return std::string(text);
  return fmt::format("{}{}v1/traces", text, url->path.empty() ? "/" : "");
}

} // namespace reprieve
