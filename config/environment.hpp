#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace karmad {

/// What may be read: a pipe or a device may keep its reader waiting for ever.
enum class FileKind { any, regular };

/// What reading a configuration needs from the world. Tests hand in values.
struct Environment {
  /// The whole file, or why it cannot be read. More than `at_most` bytes are an error.
  std::function<std::expected<std::string, std::string>(const std::string& path,
                                                        std::size_t at_most, FileKind kind)>
      read_file;
  /// The paths that match a shell pattern, in any order; none is no error.
  std::function<std::vector<std::string>(const std::string& pattern)> glob;
  /// An environment variable.
  std::function<std::optional<std::string>(const std::string& name)> variable;
};

/// The file system and the environment of this process. Not while another thread calls setenv.
Environment real_environment();

}  // namespace karmad
