#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings/settings.hpp"

namespace karmad {

/// Why the text of a file with secrets cannot be read, and where. Has no part of the text.
struct SecretMistake {
  unsigned line = 1;
  unsigned column = 1;
  std::string message;

  bool operator==(const SecretMistake&) const = default;
};

/// Reads `basic USER:PASSWORD`, `bearer TOKEN` or `apikey TOKEN`, the only line of `text`, as a
/// value of the field Authorization.
std::expected<std::string, SecretMistake> parse_credentials(std::string_view text);

/// Reads lines `user:hash`, with hashes of crypt(3) that are slow to guess, and lines
/// `user:mysql_native:*HEX` for clients of MySQL. Blank lines, and those that start with `#`, are
/// ignored.
std::expected<std::vector<KnownClient>, SecretMistake> parse_users(std::string_view text);
/// Reads lines with a token each, or with `sha256:` and its hash in hex. Ignores the same.
std::expected<std::vector<KnownClient>, SecretMistake> parse_tokens(std::string_view text);

/// Reads the files with secrets that the settings name, puts what they say into the settings, and
/// warns in their notices of those that every user of the host may read. `in_use`: listeners that a
/// reload keeps; their files are read too.
Problems read_secrets(Settings& settings, std::span<const Listen> in_use = {});
/// Whether the same was read for both.
bool have_same_secrets(const Settings& one, const Settings& other);

}  // namespace karmad
