#include "protocol/api/backup_stream.hpp"

#include "protocol/api/stream_ending.hpp"
#include "protocol/messages/convert_requests.hpp"
#include "protocol/transport/grpc_status.hpp"

#include <reprieve/v1/api.pb.h>

#include <chrono>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

/// A chunk is closed when it has this much: with the largest record on top it is still below what
/// clients of gRPC take unless they are told otherwise.
constexpr std::size_t chunk_bytes = 1U << 20U;

std::vector<v1::BackupChunk> chunks_of(const std::vector<backup_record>& records) {
  std::vector<v1::BackupChunk> chunks(1);
  std::size_t bytes = 0;
  for (const auto& one : records) {
    if (bytes >= chunk_bytes) {
      chunks.emplace_back();
      bytes = 0;
    }
    bytes += one.key.size() + one.value.size();
    *chunks.back().add_records() = to_proto(one);
  }
  return chunks;
}

} // namespace

void backup_stream::start(caf::actor_system& system, gateway_actor gateway,
                          const std::shared_ptr<api_stream>& to, const stream_pointer& let_in) {
  const std::shared_ptr<backup_stream> made(new backup_stream(system, std::move(gateway), to));
  to->keep(to, [let_in] {});
  end_when_withdrawn(*let_in, to);
  to->when_written([made] { made->read_on(); });
  made->read_on();
}

void backup_stream::read_on() {
  system_.spawn([stream = shared_from_this(), gateway = gateway_,
                 wanted = next_](caf::event_based_actor* self) {
    self->request(gateway, answer_time, wanted)
      .then(
        [stream](const backup_page_result& page) {
          if (page.ok())
            stream->send(*page);
          else
            stream->to_->end(to_grpc(page.status()));
        },
        [stream](const caf::error& error) { stream->to_->end(to_grpc(to_status(error))); });
  });
}

void backup_stream::send(const backup_page& page) {
  auto chunks = chunks_of(page.records);
  if (next_.at == 0) {
    auto about = page.about;
    about.taken = std::chrono::time_point_cast<duration>(std::chrono::system_clock::now());
    *chunks.front().mutable_header() = to_proto(about);
  }
  count_ += std::ssize(page.records);
  if (!page.more)
    chunks.back().set_count(count_);
  next_ = page.more ? backup_page_request{page.about.at, page.last} : backup_page_request{};
  std::vector<grpc::ByteBuffer> bytes;
  for (const auto& one : chunks)
    bytes.push_back(to_bytes(one));
  if (!page.more)
    to_->when_written({}); // before the last is written, and so before anybody asks
  to_->push_all(std::move(bytes));
  if (!page.more)
    to_->end();
}

} // namespace reprieve
