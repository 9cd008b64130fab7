#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace reprieve {

/// A connection that speaks HTTP/2 by itself, without encryption, so that a test can do what no
/// client of gRPC does: leave requests unfinished and answers untaken.
class raw_http2 {
public:
  /// Connects to `host:port`, an address of this machine, from another one where that is given.
  /// Streams have this window for answers.
  explicit raw_http2(const std::string& address, std::uint32_t window = 65'535,
                     const std::string& from = {});
  ~raw_http2();
  raw_http2(const raw_http2&) = delete;
  raw_http2& operator=(const raw_http2&) = delete;

  /// Whether the connection stands.
  bool open() const;

  using headers = std::vector<std::pair<std::string, std::string>>;

  /// Begins a call of the API, such as `Apply`, or of another service by its path; returns its
  /// stream.
  std::uint32_t begin(std::string_view method, std::string_view token = {},
                      const headers& more = {});

  /// Begins a call with these headers and no others, however long they are.
  std::uint32_t begin_with(const headers& all);

  /// Sends a part of the body, as far as the server lets more come within the time; returns how
  /// many bytes went out.
  std::size_t send(std::uint32_t stream, std::string_view body,
                   std::chrono::milliseconds most = std::chrono::seconds{2}, bool last = false);

  /// Begins a call with this message as its whole request.
  std::uint32_t ask(std::string_view method, std::string_view message, std::string_view token = {});

  /// Takes a call back.
  void reset(std::uint32_t stream);

  /// A call with a header whose length is a number that goes on and on.
  void begin_endless_header();
  void go_on_with_header(std::size_t bytes);
  /// A call whose block of headers goes on and on, each of so many bytes.
  void begin_endless_headers();
  void send_another_header(std::size_t bytes);

  /// Whether the stream has ended within the time, by trailers or by a reset.
  bool ended(std::uint32_t stream, std::chrono::milliseconds most);

  /// A message as gRPC frames it: `size` is what its head says.
  static std::string framed(std::string_view message, std::size_t size);

private:
  void write(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload);
  void read_all();
  void take(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload);

  int socket_ = -1;
  mutable std::mutex mutex_;
  std::mutex writing_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::uint32_t next_stream_ = 1;
  std::int64_t window_ = 65'535;                  ///< of the connection, for what we send
  std::int64_t first_window_ = 65'535;            ///< of each stream
  std::map<std::uint32_t, std::int64_t> windows_; ///< of streams
  std::map<std::uint32_t, bool> ended_;
  std::thread reader_;
};

} // namespace reprieve
