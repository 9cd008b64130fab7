#include "protocol/backup/backup_format.hpp"

#include "state/quantities/quantity.hpp"
#include "state/text/printable.hpp"

#include <absl/strings/numbers.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <string_view>
#include <utility>

namespace reprieve {

namespace {

constexpr std::string_view title = "reprieve backup ";
constexpr std::int32_t format_version = 1;

/// The lines before the records are not longer.
constexpr std::size_t most_first_bytes = 4096;

std::string first_lines(const backup_header& about, std::int64_t count) {
  return fmt::format("{}{}\nschema {}\ncluster {}\ntaken {}\nrevision {}\nrecords {:020}\n\n",
                     title, format_version, about.schema, about.cluster, format_time(about.taken),
                     about.at, count);
}

void append_number(std::size_t number, std::string& to) {
  for (int i = 0; i < 4; ++i, number >>= 8U)
    to.push_back(static_cast<char>(number & 0xffU));
}

absl::Status cut_off(std::string_view where) {
  return absl::DataLossError(
    fmt::format("the backup is cut off {}: it was not copied whole, or its disk was full", where));
}

absl::Status damaged(std::string_view what) {
  return absl::DataLossError(fmt::format("the backup is damaged: {}", printable(what, 1024)));
}

absl::Status no_backup(std::string_view line) {
  return absl::InvalidArgumentError(
    fmt::format("this is no backup: it must begin with '{}{}', not with '{}'", title,
                format_version, printable(line.substr(0, title.size() + 2))));
}

} // namespace

/// SHA-256 of what comes piece by piece.
class backup_encoder::digest {
public:
  digest() {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }

  void add(std::string_view bytes) {
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  }

  std::string hexadecimal() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), bytes.data(), &size);
    std::string text;
    for (unsigned i = 0; i < size; ++i)
      text += fmt::format("{:02x}", bytes[i]);
    return text;
  }

private:
  struct freed {
    void operator()(EVP_MD_CTX* context) const {
      EVP_MD_CTX_free(context);
    }
  };

  std::unique_ptr<EVP_MD_CTX, freed> context_{EVP_MD_CTX_new()};
};

backup_encoder::backup_encoder() : digest_(std::make_unique<digest>()) {}
backup_encoder::~backup_encoder() = default;

absl::StatusOr<std::string> backup_encoder::begin(const backup_header& about) {
  if (about.taken == no_time || about.cluster.find('\n') != std::string::npos)
    return absl::InvalidArgumentError(
      "a backup must say when it was taken, and the id of its cluster must be one line");
  about_ = about;
  return first_lines(about_, 0);
}

absl::StatusOr<std::string> backup_encoder::add(const backup_record& next) {
  if (next.key.empty() || next.key.size() + next.value.size() > store_limits::bytes)
    return absl::InvalidArgumentError(fmt::format(
      "the record at '{}' has {} bytes; a store holds none without a key, and none of "
      "more than {}",
      printable(next.key, 100), next.key.size() + next.value.size(), store_limits::bytes));
  if (next.key <= last_key_)
    return absl::InvalidArgumentError(
      fmt::format("the record at '{}' does not come after the one at '{}'",
                  printable(next.key, 100), printable(last_key_, 100)));
  std::string bytes;
  bytes.reserve(8 + next.key.size() + next.value.size());
  append_number(next.key.size(), bytes);
  append_number(next.value.size(), bytes);
  bytes += next.key;
  bytes += next.value;
  digest_->add(bytes);
  last_key_ = next.key;
  ++count_;
  return bytes;
}

backup_encoder::ending backup_encoder::finish() {
  ending end;
  end.first = first_lines(about_, count_);
  digest_->add(end.first);
  end.last = fmt::format("\nsha256 {}\n", digest_->hexadecimal());
  return end;
}

// -- reading --------------------------------------------------------------------------------------

namespace {

/// The first lines, one after the other.
class line_reader {
public:
  explicit line_reader(std::istream& from) : from_(from) {}

  /// The line's text without what it must begin with, or what is wrong.
  absl::StatusOr<std::string> after(std::string_view name) {
    std::string line;
    for (int next = from_.get(); next != '\n'; next = from_.get()) {
      if (next == std::istream::traits_type::eof())
        return cut_off(fmt::format("in the line '{}'", name));
      line.push_back(static_cast<char>(next));
      if (all_.size() + line.size() > most_first_bytes)
        return damaged(fmt::format("the line '{}' does not end", name));
    }
    all_ += line + '\n';
    if (!line.starts_with(name))
      return name == title ? no_backup(line)
                           : damaged(fmt::format("it has '{}' in place of '{}'", line, name));
    return line.substr(name.size());
  }

  template <class Number>
  absl::Status number(std::string_view name, Number& to) {
    const auto text = after(name);
    if (!text.ok())
      return text.status();
    if (!absl::SimpleAtoi(*text, &to) || to < 0)
      return damaged(fmt::format("'{}{}' is no number", name, *text));
    return absl::OkStatus();
  }

  std::string all() && {
    return std::move(all_);
  }

private:
  std::istream& from_;
  std::string all_;
};

/// Exactly so many bytes.
absl::StatusOr<std::string> take(std::istream& from, std::size_t size, std::string_view where) {
  std::string bytes(size, '\0');
  from.read(bytes.data(), static_cast<std::streamsize>(size));
  if (static_cast<std::size_t>(from.gcount()) != size)
    return cut_off(where);
  return bytes;
}

std::size_t number_at(std::string_view bytes, std::size_t at) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return number;
}

} // namespace

backup_decoder::backup_decoder(std::istream& from)
    : from_(from), expected_(std::make_unique<backup_encoder>()) {}

backup_decoder::~backup_decoder() = default;

absl::StatusOr<backup_header> backup_decoder::begin() {
  line_reader lines(from_);
  backup_header about;
  std::int32_t version = 0;
  if (auto read = lines.number(title, version); !read.ok())
    return read;
  if (version != format_version)
    return absl::FailedPreconditionError(
      fmt::format("the backup has format {}, this program knows format {} only; use a newer one",
                  version, format_version));
  if (auto read = lines.number("schema ", about.schema); !read.ok())
    return read;
  auto cluster = lines.after("cluster ");
  if (!cluster.ok())
    return cluster.status();
  about.cluster = *std::move(cluster);
  const auto taken = lines.after("taken ");
  if (!taken.ok())
    return taken.status();
  const auto time = parse_time(*taken);
  if (!time.ok())
    return damaged(fmt::format("'taken {}' is no time", *taken));
  about.taken = *time;
  if (auto read = lines.number("revision ", about.at); !read.ok())
    return read;
  if (auto read = lines.number("records ", count_); !read.ok())
    return read;
  if (auto read = lines.after(""); !read.ok())
    return read.status();
  first_ = std::move(lines).all();
  // Whether the lines are just as they were written shows at the end.
  if (auto begun = expected_->begin(about); !begun.ok())
    return damaged(std::string(begun.status().message()));
  return about;
}

absl::StatusOr<std::optional<backup_record>> backup_decoder::next() {
  if (expected_->count() == count_) {
    if (auto ended = check_end(); !ended.ok())
      return ended;
    return std::nullopt;
  }
  const auto where = fmt::format("in record {} of {}", expected_->count() + 1, count_);
  const auto sizes = take(from_, 8, where);
  if (!sizes.ok())
    return sizes.status();
  const auto key_size = number_at(*sizes, 0);
  const auto value_size = number_at(*sizes, 4);
  if (key_size + value_size > store_limits::bytes)
    return damaged(fmt::format("{} has {} bytes", where.substr(3), key_size + value_size));
  auto key = take(from_, key_size, where);
  if (!key.ok())
    return key.status();
  auto value = take(from_, value_size, where);
  if (!value.ok())
    return value.status();
  backup_record record{*std::move(key), *std::move(value)};
  if (const auto added = expected_->add(record); !added.ok())
    return damaged(std::string(added.status().message()));
  return record;
}

absl::Status backup_decoder::check_end() {
  const auto end = expected_->finish();
  const auto last = take(from_, end.last.size(), "at its end");
  if (!last.ok())
    return last.status();
  if (end.first != first_ || end.last != *last)
    return damaged("its digest is not that of what it holds");
  if (from_.peek() != std::istream::traits_type::eof())
    return damaged("it goes on behind its end");
  return absl::OkStatus();
}

} // namespace reprieve
