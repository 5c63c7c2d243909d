#pragma once

#include <expected>
#include <string>

namespace karmad {

/// Replaces the file as a whole: writes another one beside it and renames it, so that a reader or a
/// crash never sees half of it. Mode 0600. The error says what failed.
std::expected<void, std::string> write_state_file(const std::string& path,
                                                  const std::string& content);

/// The content; empty if there is no such file. Only regular files of at most 16 MB.
std::expected<std::string, std::string> read_state_file(const std::string& path);

/// The first line of a file with a secret, without white space at its ends: 16 to 4096 visible
/// ASCII characters.
std::expected<std::string, std::string> read_token_file(const std::string& path);

}  // namespace karmad
