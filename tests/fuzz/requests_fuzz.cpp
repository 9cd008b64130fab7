#include "protocol/access/caller_file.hpp"
#include "protocol/messages/convert_requests.hpp"
#include "state/admission/access_rules.hpp"
#include "state/admission/admission.hpp"
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/fuzz_run.hpp"
#include "tests/support/drawing.hpp"
#include "tests/support/generators.hpp"

#include <gtest/gtest.h>
#include <reprieve/v1/api.pb.h>

#include <string>

// What callers of the API send, and who they are by a file.

namespace reprieve {
namespace {

template <class Request>
std::string input_of(const Request& wanted) {
  return to_proto(wanted).SerializeAsString();
}

/// The request in the bytes, as its call reads it.
template <class Form, class F>
absl::Status feed_as(const std::string& input, F use) {
  Form form;
  if (!form.ParseFromString(input))
    return absl::InvalidArgumentError("it is no such message"); // gRPC says so
  const auto wanted = from_proto(form);
  return wanted.ok() ? use(*wanted) : wanted.status();
}

const caller& some_submitter() {
  static const caller who{"ci", caller_role::submitter, {"train"}};
  return who;
}

template <class Request>
absl::Status check_caller(const Request& wanted) {
  const auto asked = asked_by(wanted);
  return check_access(some_submitter(), asked.what, asked.objects);
}

absl::Status feed_apply(const apply_request& wanted) {
  if (auto allowed = check_caller(wanted); !allowed.ok())
    return allowed;
  return admit(wanted.objects, initial_catalog(), facts_of_nothing{}).status();
}

absl::Status feed_delete(const delete_request& wanted) {
  if (auto allowed = check_caller(wanted); !allowed.ok())
    return allowed;
  return admit_removals(wanted.kind, wanted.names, initial_catalog(), facts_of_nothing{});
}

/// Takes the bytes for each of the requests: which one it is, the path says that a call comes by.
absl::Status feed_request(const std::string& input) {
  auto worst = feed_as<v1::ApplyRequest>(input, feed_apply);
  worst.Update(feed_as<v1::GetRequest>(input, check_caller<get_request>));
  worst.Update(feed_as<v1::DescribeRequest>(input, check_caller<describe_request>));
  worst.Update(feed_as<v1::DeleteRequest>(input, feed_delete));
  worst.Update(feed_as<v1::ExplainRequest>(input, check_caller<explain_request>));
  worst.Update(feed_as<v1::HeartbeatRequest>(
    input, [](const heartbeat_request&) { return absl::OkStatus(); }));
  return worst;
}

std::vector<std::string> requests() {
  auto corpus = drawn(60, [] {
    apply_request wanted;
    draw(wanted.objects);
    return input_of(wanted);
  });
  // What is admitted shows more of the rules.
  workload lone;
  lone.name = "job";
  lone.queue = "train";
  pod_group workers;
  workers.name = "workers";
  workers.pods.requests["cpu"] = 1000;
  lone.groups = {workers};
  corpus.push_back(input_of(apply_request{{lone}}));
  node machine;
  machine.name = "n1";
  machine.capacity["cpu"] = 8000;
  queue train;
  train.name = "train";
  corpus.push_back(input_of(apply_request{{machine, train}}));
  add_to(corpus, drawn(10, [] {
           get_request wanted;
           wanted.kind = object_kind::pod;
           draw_all(wanted.name, wanted.resource_group, wanted.queue, wanted.node, wanted.workload);
           return input_of(wanted);
         }));
  add_to(corpus, drawn(4, [] {
           describe_request wanted;
           draw(wanted.name);
           return input_of(wanted);
         }));
  add_to(corpus, drawn(8, [] {
           delete_request wanted;
           draw_all(wanted.names, wanted.force);
           return input_of(wanted);
         }));
  corpus.push_back(input_of(explain_request{"", "job", ""}));
  corpus.push_back(input_of(heartbeat_request{{"n1", "n2"}, false}));
  return corpus;
}

TEST(fuzz, requests_of_the_api_are_taken_or_refused) {
  run_fuzz({"requests of the API", input_form::protobuf, requests(), feed_request});
}

TEST(fuzz, files_of_tokens_are_read_or_refused) {
  const std::string digest(64, 'a');
  const std::vector<std::string> corpus{
    "alice admin sha256=" + digest + "\n",
    "# name role rest\nci submitter queues=train,eval until=2027-01-01T00:00:00Z sha256=" + digest
      + "\ndemo viewer token=sixteen-characters-at-least\n",
    "laptop none certificate\nops operator certificate\nall submitter queues=* "
    "token=0123456789abcdef\n",
    "\n\n# nothing\n",
  };
  run_fuzz({"files of tokens", input_form::text, corpus, [](const std::string& input) {
              const auto read = caller_file::parse(input);
              if (!read.ok())
                return read.status();
              read->by_token("sixteen-characters-at-least");
              read->by_certificate("laptop");
              read->next_end(no_time);
              return absl::OkStatus();
            }});
}

} // namespace
} // namespace reprieve
