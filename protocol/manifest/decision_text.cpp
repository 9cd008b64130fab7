#include "protocol/manifest/decision_text.hpp"

#include "protocol/manifest/manifest_emitter.hpp"
#include "protocol/manifest/manifest_parser.hpp"
#include "protocol/messages/convert_requests.hpp"

#include <google/protobuf/util/json_util.h>

namespace reprieve {

namespace {

std::string json_of(const google::protobuf::Message& message, bool indented) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = indented;
  std::string text;
  // The message was built by us, so it prints.
  (void)google::protobuf::util::MessageToJsonString(message, &text, options);
  return text;
}

} // namespace

std::string explanation_json(const explanation& e) {
  return json_of(to_proto(e), true);
}

std::string event_json(const event& e) {
  return json_of(to_proto(e), false);
}

std::string explanation_yaml(const explanation& e) {
  std::string yaml;
  const auto parsed =
    parse_manifest(explanation_json(e), "explanation", [&](const manifest_tree& tree) {
      yaml = yaml_text(tree);
      return absl::OkStatus();
    });
  return parsed.ok() ? yaml : explanation_json(e);
}

} // namespace reprieve
