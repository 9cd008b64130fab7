#include "tests/support/raw_http2.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace reprieve {

namespace {

enum frame : std::uint8_t {
  data_frame = 0,
  headers_frame = 1,
  reset_frame = 3,
  settings_frame = 4,
  ping_frame = 6,
  window_frame = 8,
  continuation_frame = 9,
};
constexpr std::uint8_t acknowledges = 1;
constexpr std::uint8_t ends_stream = 1;
constexpr std::uint8_t ends_headers = 4;
constexpr std::uint16_t first_window_setting = 4;
constexpr std::size_t head_bytes = 9;
constexpr std::size_t most_in_a_frame = 16'384;

void put_number(std::string& to, std::uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    to.push_back(static_cast<char>(value >> shift));
}

std::uint32_t number_in(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes)
    value = value << 8U | static_cast<unsigned char>(c);
  return value;
}

/// A header as text that no table has.
void put_header(std::string& to, std::string_view name, std::string_view value) {
  to.push_back(0);
  for (const auto text : {name, value}) {
    constexpr std::size_t in_one_byte = 127;
    if (text.size() < in_one_byte) {
      to.push_back(static_cast<char>(text.size()));
    } else {
      to.push_back(in_one_byte);
      auto rest = text.size() - in_one_byte;
      for (; rest >= 128; rest /= 128)
        to.push_back(static_cast<char>(rest % 128 + 128));
      to.push_back(static_cast<char>(rest));
    }
    to.append(text);
  }
}

bool read_whole(int from, std::string& into, std::size_t bytes) {
  into.resize(bytes);
  for (std::size_t at = 0; at < bytes;) {
    const auto came = recv(from, into.data() + at, bytes - at, 0);
    if (came <= 0)
      return false;
    at += static_cast<std::size_t>(came);
  }
  return true;
}

} // namespace

raw_http2::raw_http2(const std::string& address, std::uint32_t window, const std::string& from) {
  const auto colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (!from.empty()) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    inet_pton(AF_INET, from.c_str(), &own.sin_addr);
    (void)bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own);
  }
  closed_ = connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0;
  if (closed_)
    return;
  constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  (void)::send(socket_, preface.data(), preface.size(), MSG_NOSIGNAL);
  std::string settings;
  put_number(settings, first_window_setting, 2);
  put_number(settings, window, 4);
  write(settings_frame, 0, 0, settings);
  reader_ = std::thread([this] { read_all(); });
}

raw_http2::~raw_http2() {
  shutdown(socket_, SHUT_RDWR);
  if (reader_.joinable())
    reader_.join();
  close(socket_);
}

bool raw_http2::open() const {
  const std::lock_guard lock(mutex_);
  return !closed_;
}

std::uint32_t raw_http2::begin(std::string_view method, std::string_view token,
                               const headers& more) {
  headers all{
    {":method", "POST"},
    {":scheme", "http"},
    {":path", (method.starts_with('/') ? "" : "/reprieve.v1.Reprieve/") + std::string(method)},
    {":authority", "localhost"},
    {"content-type", "application/grpc"},
    {"te", "trailers"}};
  if (!token.empty())
    all.emplace_back("authorization", "Bearer " + std::string(token));
  all.insert(all.end(), more.begin(), more.end());
  return begin_with(all);
}

std::uint32_t raw_http2::begin_with(const headers& all) {
  std::string block;
  for (const auto& [name, value] : all)
    put_header(block, name, value);
  std::uint32_t stream = 0;
  {
    const std::lock_guard lock(mutex_);
    stream = next_stream_;
    next_stream_ += 2;
    windows_[stream] = first_window_;
  }
  auto type = headers_frame;
  std::string_view left = block;
  do {
    const auto part = left.substr(0, most_in_a_frame);
    left.remove_prefix(part.size());
    write(type, left.empty() ? ends_headers : 0, stream, part);
    type = continuation_frame;
  } while (!left.empty());
  return stream;
}

std::size_t raw_http2::send(std::uint32_t stream, std::string_view body,
                            std::chrono::milliseconds most, bool last) {
  const auto end = std::chrono::steady_clock::now() + most;
  std::size_t sent = 0;
  while (sent < body.size()) {
    std::size_t next = 0;
    {
      std::unique_lock lock(mutex_);
      const auto room = [&] { return ended_[stream] ? 0 : std::min(window_, windows_[stream]); };
      if (!changed_.wait_until(lock, end, [&] { return closed_ || ended_[stream] || room() > 0; })
          || closed_ || ended_[stream])
        return sent;
      next = std::min({body.size() - sent, most_in_a_frame, static_cast<std::size_t>(room())});
      window_ -= static_cast<std::int64_t>(next);
      windows_[stream] -= static_cast<std::int64_t>(next);
    }
    const bool all = last && sent + next == body.size();
    write(data_frame, all ? ends_stream : 0, stream, body.substr(sent, next));
    sent += next;
  }
  return sent;
}

std::string raw_http2::framed(std::string_view message, std::size_t size) {
  std::string body(1, '\0');
  put_number(body, static_cast<std::uint32_t>(size), 4);
  return body.append(message);
}

std::uint32_t raw_http2::ask(std::string_view method, std::string_view message,
                             std::string_view token) {
  const auto stream = begin(method, token);
  send(stream, framed(message, message.size()), std::chrono::seconds{10}, true);
  return stream;
}

void raw_http2::reset(std::uint32_t stream) {
  constexpr std::uint32_t cancelled = 8;
  std::string why;
  put_number(why, cancelled, 4);
  write(reset_frame, 0, stream, why);
}

namespace {

/// A header that no table is to keep.
std::string plain_header(std::string_view name, std::string_view value) {
  std::string all(1, '\0');
  for (const auto text : {name, value}) {
    constexpr std::size_t in_prefix = 127;
    all += static_cast<char>(std::min(text.size(), in_prefix));
    if (text.size() >= in_prefix) {
      auto rest = text.size() - in_prefix;
      for (; rest >= 128; rest /= 128)
        all += static_cast<char>(rest % 128 + 128);
      all += static_cast<char>(rest);
    }
    all += text;
  }
  return all;
}

} // namespace

void raw_http2::begin_endless_headers() {
  write(headers_frame, 0, 1, plain_header("x", "y"));
}

void raw_http2::send_another_header(std::size_t bytes) {
  write(continuation_frame, 0, 1, plain_header("x", std::string(bytes, 'b')));
}

void raw_http2::begin_endless_header() {
  write(headers_frame, 0, 1, std::string_view("\0\1x\x7f", 4));
}

void raw_http2::go_on_with_header(std::size_t bytes) {
  write(continuation_frame, 0, 1, std::string(bytes, '\x80'));
}

bool raw_http2::ended(std::uint32_t stream, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [&] { return closed_ || ended_[stream]; });
}

void raw_http2::write(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                      std::string_view payload) {
  std::string bytes;
  put_number(bytes, static_cast<std::uint32_t>(payload.size()), 3);
  bytes.push_back(static_cast<char>(type));
  bytes.push_back(static_cast<char>(flags));
  put_number(bytes, stream, 4);
  bytes.append(payload);
  const std::lock_guard lock(writing_);
  for (std::size_t at = 0; at < bytes.size();) {
    const auto gone = ::send(socket_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (gone <= 0)
      return;
    at += static_cast<std::size_t>(gone);
  }
}

void raw_http2::read_all() {
  std::string head;
  std::string payload;
  while (read_whole(socket_, head, head_bytes)) {
    const std::string_view bytes = head;
    if (!read_whole(socket_, payload, number_in(bytes.substr(0, 3))))
      break;
    take(static_cast<std::uint8_t>(head[3]), static_cast<std::uint8_t>(head[4]),
         number_in(bytes.substr(5, 4)), payload);
  }
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void raw_http2::take(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                     std::string_view payload) {
  if (type == settings_frame && (flags & acknowledges) == 0)
    write(settings_frame, acknowledges, 0, {});
  if (type == ping_frame && (flags & acknowledges) == 0)
    write(ping_frame, acknowledges, 0, payload);
  const std::lock_guard lock(mutex_);
  if (type == settings_frame) {
    for (; payload.size() >= 6; payload.remove_prefix(6))
      if (number_in(payload.substr(0, 2)) == first_window_setting) {
        const std::int64_t now = number_in(payload.substr(2, 4));
        for (auto& [one, window] : windows_)
          window += now - first_window_;
        first_window_ = now;
      }
  } else if (type == window_frame && payload.size() == 4) {
    (stream == 0 ? window_ : windows_[stream]) += number_in(payload);
  } else if (type == reset_frame
             || ((type == headers_frame || type == data_frame) && (flags & ends_stream) != 0)) {
    ended_[stream] = true;
  }
  changed_.notify_all();
}

} // namespace reprieve
