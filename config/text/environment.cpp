#include "config/text/environment.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "config/text/source_text.hpp"

namespace karmad {

namespace {

/// Opens without waiting for a writer if the file must be regular; null: see errno.
std::FILE* open_file(const std::string& path, FileKind kind) {
  const int waiting = kind == FileKind::regular ? O_NONBLOCK : 0;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | waiting);
  return file < 0 ? nullptr : ::fdopen(file, "rb");
}

bool is_regular(std::FILE* file) {
  struct stat status {};
  return ::fstat(::fileno(file), &status) == 0 && S_ISREG(status.st_mode);
}

std::expected<std::string, std::string> read_file(const std::string& path, std::size_t at_most,
                                                  FileKind kind) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(open_file(path, kind));
  if (!file) return std::unexpected(std::string(std::strerror(errno)));
  if (kind == FileKind::regular && !is_regular(file.get()))
    return std::unexpected(std::string("it is not a regular file"));
  std::string text;
  std::array<char, 16384> block;
  while (const auto got = std::fread(block.data(), 1, block.size(), file.get())) {
    text.append(block.data(), got);
    if (text.size() > at_most)
      return std::unexpected(fmt::format("it is larger than {} bytes", at_most));
  }
  if (std::ferror(file.get()) != 0) return std::unexpected(std::string(std::strerror(errno)));
  return text;
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

ThisHost this_host() {
  ThisHost host;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0') {
    const auto whole = lower(name.data());
    host.names.push_back(whole);
    if (const auto dot = whole.find('.'); dot != whole.npos)
      host.names.push_back(whole.substr(0, dot));
  }
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return host;
  for (const auto* each = first; each != nullptr; each = each->ifa_next)
    if (auto text = address_text(each->ifa_addr); !text.empty())
      host.addresses.push_back(std::move(text));
  ::freeifaddrs(first);
  return host;
}

}  // namespace

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address == nullptr) return {};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET)
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (bytes == nullptr) return {};
  return ::inet_ntop(address->sa_family, bytes, text.data(), text.size());
}

FileStamp stamp_of(const std::string& path) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0 || !S_ISREG(seen.st_mode)) return {};
  return {seen.st_dev, seen.st_ino, seen.st_size, seen.st_ctim.tv_sec, seen.st_ctim.tv_nsec};
}

Environment real_environment() {
  return {read_file, matches, variable, this_host};
}

}  // namespace karmad
