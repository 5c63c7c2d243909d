#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

struct sockaddr;

namespace karmad {

/// Allowed kinds of file: reading a pipe or a device may block forever.
enum class FileKind { any, regular };

/// What a machine is called and which IP addresses it has.
struct ThisHost {
  std::vector<std::string> names;      ///< in lower case, with and without the domain
  std::vector<std::string> addresses;  ///< of its interfaces, without zones
};

/// What changes when a file is written, replaced or made readable.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = -1;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  bool operator==(const FileStamp&) const = default;
};

/// Of a regular file as it is now; of anything else, and of no file, that of a new FileStamp. To be
/// taken before the file is read: what changes meanwhile is seen at the next look.
FileStamp stamp_of(const std::string& path);

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

/// The text of an IP address, without port or zone; empty for other families.
std::string address_text(const sockaddr* address);

/// The file system and environment of this process. Not thread-safe with setenv.
Environment real_environment();

}  // namespace karmad
