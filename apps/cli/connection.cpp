#include "apps/cli/connection.hpp"

#include "protocol/access/listen_address.hpp"

#include <CLI/CLI.hpp>
#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

namespace reprieve::cli {

void add_connection_options(CLI::App& app, connection_options& options) {
  const auto add = [&](const char* name, std::string& value, const char* variable,
                       const char* text) {
    return app.add_option(name, value, text)->envname(variable);
  };
  add("--server", options.servers, "REPRIEVE_SERVER",
      "address of reprieved; several with commas between them, the next is asked where one does "
      "not answer")
    ->capture_default_str();
  add(
    "--token", options.token, "REPRIEVE_TOKEN",
    "says who calls; others can see it on the command line, so rather use the variable or a file");
  add("--token-file", options.token_file, "REPRIEVE_TOKEN_FILE", "file with the token");
  add("--tls-ca", options.tls.authority, "REPRIEVE_TLS_CA",
      "encrypt, and check the server by the certificates of this file");
  add("--tls-cert", options.tls.certificate, "REPRIEVE_TLS_CERT",
      "certificate to show to the server");
  add("--tls-key", options.tls.key, "REPRIEVE_TLS_KEY", "key of the certificate");
  app.add_flag("--insecure", options.insecure,
               "send a token without encryption to another machine, too");
}

absl::StatusOr<client_options> read_connection(const connection_options& given) {
  client_options options;
  options.servers = absl::StrSplit(given.servers, absl::ByAnyChar(", "), absl::SkipEmpty());
  if (options.servers.empty())
    return absl::InvalidArgumentError("--server names no server; give one such as 127.0.0.1:7420");
  options.token = given.token;
  // One that is given directly goes before a file that the environment names.
  if (!given.token_file.empty() && given.token.empty()) {
    const auto read = read_small_file(given.token_file);
    if (!read.ok())
      return absl::InvalidArgumentError(
        fmt::format("--token-file: {}", std::string(read.status().message())));
    options.token = std::string(absl::StripAsciiWhitespace(*read));
    if (options.token.empty())
      return absl::InvalidArgumentError(
        fmt::format("--token-file: {} is empty; put the token in it", given.token_file));
  }
  if (!given.tls.certificate.empty() && given.tls.authority.empty())
    return absl::InvalidArgumentError(
      "--tls-cert needs --tls-ca: the file with the certificates to check the server by");
  auto tls = read_tls(given.tls);
  if (!tls.ok())
    return absl::InvalidArgumentError(fmt::format("TLS: {}", std::string(tls.status().message())));
  options.tls = *std::move(tls);
  for (const auto& server : options.servers)
    if (!options.token.empty() && given.tls.empty() && !given.insecure && !is_local(server))
      return absl::InvalidArgumentError(
        fmt::format("a token would travel to {} where others can read it; give --tls-ca, or say "
                    "--insecure",
                    server));
  return options;
}

} // namespace reprieve::cli
