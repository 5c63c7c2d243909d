#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "balancer/discovery/mirror_json.hpp"
#include "balancer/discovery/mirror_source.hpp"

namespace karmad {
namespace {

constexpr auto kLookAt = std::chrono::seconds(1);

/// What changes when a file is written or replaced.
struct FileVersion {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  bool operator==(const FileVersion&) const = default;
};

struct FileContent {
  std::optional<FileVersion> version;
  std::expected<FoundEntries, std::string> entries;
};

std::string error_text(int error) {
  return fmt::format("cannot be read: {}", std::generic_category().message(error));
}

/// Blocks. Nothing if the file still has that version.
std::optional<FileContent> read_if_new(const std::string& path,
                                       const std::optional<FileVersion>& known) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return FileContent{{}, std::unexpected(error_text(errno))};
  const auto closed = [file](FileContent content) {
    ::close(file);
    return content;
  };
  struct stat status {};
  if (::fstat(file, &status) != 0) return closed({{}, std::unexpected(error_text(errno))});
  if (!S_ISREG(status.st_mode)) return closed({{}, std::unexpected("it is not a regular file")});
  const FileVersion version{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                            status.st_mtim.tv_nsec};
  if (known == version) {
    ::close(file);
    return std::nullopt;
  }
  std::string text(kLongestSource + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto count = ::read(file, text.data() + size, text.size() - size);
    if (count < 0) return closed({{}, std::unexpected(error_text(errno))});
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return closed({version, read_entries(text)});
}

class FileSource final : public MirrorSource {
 public:
  FileSource(const DiscoverySource& source, SourceRun run)
      : state_(std::make_shared<State>(source.name, std::move(run))) {
    look(state_);
  }
  ~FileSource() override {
    state_->stopped = true;
    state_->timer.cancel();
  }

 private:
  struct State {
    State(std::string of, SourceRun with)
        : path(std::move(of)), run(std::move(with)), timer(run.door->io()) {}
    const std::string path;
    SourceRun run;
    boost::asio::steady_timer timer;
    bool stopped = false;
    FileContent last{{}, std::unexpected("it was not read yet")};
  };

  /// A read that blocks holds up only the next one.
  static void look(const std::shared_ptr<State>& state) {
    run_aside(
        state->run.door,
        [path = state->path, known = state->last.version] { return read_if_new(path, known); },
        [state](std::optional<FileContent> content) {
          if (state->stopped) return;
          if (content) state->last = *std::move(content);
          state->run.report(state->last.entries);
          if (state->stopped) return;
          state->timer.expires_after(kLookAt);
          state->timer.async_wait([state](boost::system::error_code error) {
            if (!error && !state->stopped) look(state);
          });
        });
  }

  const std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<MirrorSource> follow_file(const DiscoverySource& source, SourceRun run) {
  return std::make_unique<FileSource>(source, std::move(run));
}

}  // namespace karmad
