#pragma once

#include "state/store/backup.hpp"

#include <absl/status/statusor.h>

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>

namespace reprieve {

/// The bytes of a backup file. It begins with lines that say what it is,
///
///     reprieve backup 1
///     schema 1
///     cluster 18b2f6a1c0d4
///     taken 2026-11-15T02:14:14.569951031Z
///     revision 4711
///     records 00000000000000001234
///
/// and an empty one. The records follow in the order of their keys, each as the sizes of key and
/// value (32 bits, the lowest byte first) and their bytes; then, on a line of its own, `sha256`
/// with the digest, in hexadecimal, of all records and the lines before them.
class backup_encoder {
public:
  backup_encoder();
  ~backup_encoder();

  /// The first bytes of the file, for as long as the number of records is not known.
  absl::StatusOr<std::string> begin(const backup_header& about);

  /// What follows for the next record. Refused are those that no store could hold, and those that
  /// come out of order.
  absl::StatusOr<std::string> add(const backup_record& next);

  struct ending {
    std::string first; ///< to go in place of what `begin` returned, which is as long
    std::string last;  ///< the end of the file
  };
  ending finish();

  std::int64_t count() const {
    return count_;
  }

private:
  class digest;

  backup_header about_;
  std::string last_key_;
  std::int64_t count_ = 0;
  std::unique_ptr<digest> digest_;
};

/// Reads such a file. What it returns can be relied on only once `next` has said that there is no
/// more: the digest comes last. Every error says what is wrong with the file.
class backup_decoder {
public:
  explicit backup_decoder(std::istream& from);
  ~backup_decoder();

  /// To be called first.
  absl::StatusOr<backup_header> begin();

  /// The next record; nothing at the end of a file that is as it was written.
  absl::StatusOr<std::optional<backup_record>> next();

  /// How many records the file says it has.
  std::int64_t count() const {
    return count_;
  }

private:
  absl::Status check_end();

  std::istream& from_;
  std::string first_; ///< the lines before the records
  std::int64_t count_ = 0;
  std::unique_ptr<backup_encoder> expected_; ///< writes the same file once more
};

} // namespace reprieve
