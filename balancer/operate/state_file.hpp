#pragma once

#include <cstddef>
#include <expected>
#include <string>

namespace karmad {

/// Replaces the file as a whole: writes another one beside it and renames it, so that a reader or a
/// crash never sees half of it. Mode 0600. What is there and no regular file stays. The error says
/// what failed.
std::expected<void, std::string> write_state_file(const std::string& path,
                                                  const std::string& content);

/// The content; empty if there is no such file. Only regular files of at most 16 MB that
/// parse_overrides() and last_found_in() can read.
std::expected<std::string, std::string> read_state_file(const std::string& path);

/// Gives the file a second name, `PATH.unusable`, which stays when the file is replaced, and
/// returns it; empty if there is no such file. An error if something has that name already.
std::expected<std::string, std::string> keep_aside(const std::string& path);

/// The content of a file with secrets, of at most `most` bytes.
struct SecretFile {
  std::string content;
  bool is_public = false;  ///< every user of the host may read it
};
std::expected<SecretFile, std::string> read_secret_file(const std::string& path, std::size_t most);

/// The first line of a file with a secret, without white space at its ends: 16 to 4096 visible
/// ASCII characters.
std::expected<std::string, std::string> read_token_file(const std::string& path);

}  // namespace karmad
