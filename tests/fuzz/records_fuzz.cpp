#include "protocol/records/records_reading.hpp"
#include "state/records/keys.hpp"
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/fuzz_run.hpp"
#include "tests/support/drawing.hpp"
#include "tests/support/generators.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

// What the store holds.

namespace reprieve {
namespace {

std::string drawn_node() {
  node_record record;
  node spec;
  draw(spec);
  spec.name = "n1";
  spec.resource_group = "default";
  std::vector<pod> pods;
  draw(pods);
  for (auto& p : pods) {
    p.node = "n1";
    put_pod(record, std::move(p));
  }
  record.spec = std::move(spec);
  draw(record.status);
  return encode(record);
}

std::string drawn_workload() {
  workload_record record;
  workload spec;
  draw(spec);
  spec.name = "job";
  spec.resource_group = "default";
  record.spec = std::move(spec);
  draw(record.status);
  record.status.by_group.resize(record.spec->groups.size());
  std::vector<slot_record> slots;
  draw(slots);
  record.slots = std::move(slots);
  return encode(record);
}

template <class Model>
std::string drawn_one() {
  Model made;
  draw(made);
  return encode(made);
}

std::string drawn_decision() {
  decision made;
  draw(made);
  return encode(head_of(made, 1));
}

std::string drawn_body() {
  decision made;
  draw(made);
  return encode_bodies(made, shared_pods(made.assignments)).front();
}

std::vector<std::string> records() {
  std::vector<std::string> corpus;
  const std::vector<std::string (*)()> makers{drawn_node,
                                              drawn_workload,
                                              drawn_one<disruption_budget>,
                                              drawn_one<placement>,
                                              drawn_one<queue>,
                                              drawn_one<priority_class>,
                                              drawn_one<resource_group>,
                                              drawn_decision,
                                              drawn_body};
  for (const auto make : makers)
    add_to(corpus, drawn(12, make));
  corpus.push_back(encode(schema_record{}));
  corpus.push_back(encode(owner_record{"r1", "a:1", "b:2", no_time, {"n/default.0"}, 6}));
  corpus.push_back(encode(owners_record{{{"n/default.0", "r1"}}, {{"default", 3}}}));
  corpus.push_back(encode(sequence_record{3, "r1@7", {"d1"}, 1}));
  corpus.push_back(encode(promised_writes{{put{"w/default.0/job", "value", 0}}}));
  corpus.push_back(encode(left_pods{{"u1", "u2"}}));
  return corpus;
}

TEST(fuzz, stored_records_are_read_or_set_aside) {
  static constexpr std::array all_keys{
    "n/default.0/n1",         "w/default.0/job",      "b/default.0/budget",  "p/default.0/web",
    "slots/default.0/job/01", "q/queues/queue/train", "q/queues/class/high", "q/queues/group/lab",
    "q/queues/quota/train",   "l/default.0/n1",       "seq/w/default.0",     "d/open/1.1.default"};
  run_fuzz({"stored records", input_form::protobuf, records(), [](const std::string& input) {
              absl::Status worst;
              for (const auto* key : all_keys)
                worst.Update(check_stored(key, input));
              worst.Update(decode<schema_record>(input).status());
              worst.Update(decode<owner_record>(input).status());
              worst.Update(decode<owners_record>(input).status());
              worst.Update(decode<promised_writes>(input).status());
              worst.Update(decode<archived_decision>(input).status());
              worst.Update(decode<archive_record>(input).status());
              decision whole;
              worst.Update(add_body(whole, input));
              // What is left of it is whole, whatever it was.
              const auto node = encode(salvage_node("n/default.0/n1", input).record);
              EXPECT_TRUE(check_stored("n/default.0/n1", node).ok())
                << check_stored("n/default.0/n1", node);
              const auto work = encode(salvage_workload("w/default.0/job", input));
              EXPECT_TRUE(check_stored("w/default.0/job", work).ok())
                << check_stored("w/default.0/job", work);
              return worst;
            }});
}

} // namespace
} // namespace reprieve
