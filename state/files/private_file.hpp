#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace reprieve {

/// Opens a file to write at its end, made for its owner alone where it is missing. Not where its
/// name is a symbolic link, through which somebody else could choose what is written to, nor where
/// it is a pipe or anything else that is no regular file, which could have the writer wait; but for
/// the names that the system itself has, such as /dev/stdout. Where it can't, it says why, without
/// the name. It does not wait.
absl::StatusOr<int> open_to_append(const std::string& path);

/// What others than the owner of a secret file, or of a directory that holds some, can do with it,
/// in a sentence; empty where they can do nothing, or it is not there.
std::string openness_of(const std::string& path);

/// A file for its owner alone that takes the place of another when it is whole and on the disk:
/// whatever happens, there is all of it or what was there before. Until then it stands beside that
/// one under a name that nobody can guess.
class replacing_file {
public:
  static absl::StatusOr<replacing_file> of(std::string path);

  replacing_file(replacing_file&& other) noexcept;
  replacing_file& operator=(replacing_file&& other) = delete;
  /// Takes what is not whole away.
  ~replacing_file();

  absl::Status write(std::string_view text);
  /// Over what is there already.
  absl::Status write_at_begin(std::string_view text);
  absl::Status move_in_place();

private:
  replacing_file(std::string path, std::string unfinished, int file);
  absl::Status failed(std::string_view what) const;

  std::string path_;
  std::string unfinished_;
  int file_ = -1;
};

/// Has the file hold the text, as above.
absl::Status replace_file(const std::string& path, std::string_view text);

} // namespace reprieve
