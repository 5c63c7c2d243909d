#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>

#include "balancer/discovery/mirror_source.hpp"
#include "balancer/discovery/source_json.hpp"
#include "config/text/environment.hpp"

namespace karmad {
namespace {

constexpr auto kLookAt = std::chrono::seconds(1);

struct FileContent {
  FileStamp stamp;
  std::expected<FoundEntries, std::string> entries;
};

/// Blocks. Nothing if the file still has that stamp.
std::optional<FileContent> read_if_new(const std::string& path, const FileStamp& known) {
  const auto stamp = stamp_of(path);
  if (stamp == known && stamp != FileStamp()) return std::nullopt;
  const auto text = real_environment().read_file(path, kLongestSource, FileKind::regular);
  if (!text) return FileContent{{}, std::unexpected("cannot be read: " + text.error())};
  return FileContent{stamp, read_entries(*text)};
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
        : path(std::move(of)), run(std::move(with)), timer(run.loop.io) {}
    const std::string path;
    SourceRun run;
    boost::asio::steady_timer timer;
    bool stopped = false;
    FileContent last{{}, std::unexpected("it was not read yet")};
  };

  /// A read that blocks holds up only the next one.
  static void look(const std::shared_ptr<State>& state) {
    run_aside(
        state->run.loop,
        [path = state->path, known = state->last.stamp] { return read_if_new(path, known); },
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
