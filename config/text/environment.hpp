#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace karmad {

/// Allowed kinds of file: reading a pipe or a device may block forever.
enum class FileKind { any, regular };

/// What a machine is called and which IP addresses it has.
struct ThisHost {
  std::vector<std::string> names;      ///< in lower case, with and without the domain
  std::vector<std::string> addresses;  ///< of its interfaces, without zones
};

/// The environment that reading a configuration needs. Tests replace it.
struct Environment {
  /// The whole file, or why it cannot be read. More than `at_most` bytes is an error.
  std::function<std::expected<std::string, std::string>(const std::string& path,
                                                        std::size_t at_most, FileKind kind)>
      read_file;
  /// The paths that match a shell pattern, in any order; no match is not an error.
  std::function<std::vector<std::string>(const std::string& pattern)> glob;
  /// An environment variable.
  std::function<std::optional<std::string>(const std::string& name)> variable;
  /// The names of this machine and the addresses of its interfaces, as text; nothing is looked up.
  /// Empty: unknown.
  std::function<ThisHost()> this_host;
};

/// The file system and environment of this process. Not thread-safe with setenv.
Environment real_environment();

}  // namespace karmad
