#include "balancer/operate/state_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "agent/transport/descriptor.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "balancer/discovery/source_json.hpp"
#include "balancer/operate/overrides.hpp"

namespace karmad {
namespace {

constexpr std::size_t kLongestFile = 16 << 20;
constexpr std::size_t kShortestToken = 16;
constexpr std::size_t kLongestToken = 4096;

std::unexpected<std::string> failed_with_errno(std::string_view what) {
  return std::unexpected(fmt::format("{}: {}", what, std::strerror(errno)));
}

Descriptor open_file(const std::string& path, int flags) {
  return Descriptor(::open(path.c_str(), flags | O_CLOEXEC, 0600));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

/// A device, a pipe or a folder.
bool is_special(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
}

std::expected<std::string, std::string> read_at_most(int fd, std::size_t most) {
  std::string content;
  for (;;) {
    char piece[4096];
    const auto got = ::read(fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed_with_errno("read");
    if (got == 0) return content;
    content.append(piece, static_cast<std::size_t>(got));
    if (content.size() > most) return std::unexpected(fmt::format("larger than {} bytes", most));
  }
}

}  // namespace

std::expected<void, std::string> write_state_file(const std::string& path,
                                                  const std::string& content) {
  const auto beside = path + ".new";
  if (is_special(path)) return std::unexpected("not a regular file");
  {
    const auto file = open_file(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    if (!file) return failed_with_errno("cannot open " + beside);
    if (!write_all(file.get(), content) || ::fsync(file.get()) != 0)
      return failed_with_errno("cannot write " + beside);
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0)
    return failed_with_errno("cannot rename " + beside);
  return {};
}

std::expected<std::string, std::string> read_state_file(const std::string& path) {
  const auto file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file && errno == ENOENT) return std::string();
  if (!file) return failed_with_errno("open");
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return std::unexpected("not a regular file");
  auto content = read_at_most(file.get(), kLongestFile);
  if (!content || content->empty()) return content;
  if (auto read = parse_overrides(*content); !read) return std::unexpected(read.error());
  if (auto found = last_found_in(*content); !found) return std::unexpected(found.error());
  return content;
}

std::expected<std::string, std::string> keep_aside(const std::string& path) {
  if (is_special(path)) return std::unexpected("not a regular file");
  auto kept = path + ".unusable";
  if (::link(path.c_str(), kept.c_str()) == 0) return kept;
  if (errno == ENOENT) return std::string();
  return failed_with_errno(fmt::format("cannot keep what is there as {}", kept));
}

std::expected<SecretFile, std::string> read_secret_file(const std::string& path, std::size_t most) {
  const auto file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file) return failed_with_errno("open");
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return failed_with_errno("stat");
  auto content = read_at_most(file.get(), most);
  if (!content) return std::unexpected(content.error());
  return SecretFile{*std::move(content), (facts.st_mode & S_IROTH) != 0};
}

std::expected<std::string, std::string> read_token_file(const std::string& path) {
  const auto file = read_secret_file(path, 2 * kLongestToken);
  if (!file) return std::unexpected(file.error());
  const auto line = file->content.substr(0, file->content.find('\n'));
  std::string token(wire::trimmed(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line));
  const bool visible = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
  if (!visible || token.size() < kShortestToken || token.size() > kLongestToken)
    return std::unexpected(
        fmt::format("its first line must be a token of {} to {} visible ASCII characters",
                    kShortestToken, kLongestToken));
  return token;
}

}  // namespace karmad
