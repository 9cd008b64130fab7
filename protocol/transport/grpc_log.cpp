#include "protocol/transport/grpc_log.hpp"

#include "protocol/transport/grpc_status.hpp"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <utility>

namespace reprieve {

namespace {

line_writer& writer() {
  static line_writer one = [](const std::string&) {};
  return one;
}

void write(gpr_log_func_args* said) {
  writer()(fmt::format("gRPC: {}", presentable(said->message)));
}

void write_of_protobuf(google::protobuf::LogLevel, const char*, int, const std::string& said) {
  writer()(fmt::format("Protobuf: {}", presentable(said)));
}

} // namespace

void limit_grpc_log(line_writer write_line) {
  writer() = limited(std::move(write_line));
  gpr_set_log_function(write);
  google::protobuf::SetLogHandler(write_of_protobuf);
}

} // namespace reprieve
