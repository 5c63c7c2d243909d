#include "balancer/discovery/discovery.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>

#include "agent/transport/loop/thread_pool.hpp"
#include "balancer/discovery/found.hpp"
#include "balancer/discovery/source_json.hpp"
#include "config/settings/address.hpp"
#include "config/text/environment.hpp"

namespace karmad {
namespace {

constexpr std::string_view kHeld = "the last mirrors stay in use";
constexpr std::string_view kAsWritten = "the mirrors of the configuration are used";

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

/// Runs `job`, which may block, on another thread, and `then` with its result on the loop's.
template <class Job, class Then>
void run_aside(Loop& loop, Job job, Then then) {
  run_detached([door = loop.door(), job = std::move(job), then = std::move(then)]() mutable {
    door->post([result = job(), last = std::move(then)]() mutable { last(std::move(result)); });
  });
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

Discovery::Discovery(Loop& loop, DnsSettings dns, SourceStatus& board, Hooks hooks)
    : loop_(loop), dns_(std::move(dns)), board_(board), hooks_(std::move(hooks)) {}

Discovery::~Discovery() = default;

void Discovery::stop() {
  stopped_ = true;
  watches_.clear();
}

Pictures Discovery::pictures_for(const Settings& file) const {
  Pictures pictures;
  for (const auto& table : file.tables) {
    if (!table.discovery) continue;
    const auto watch = watches_.find(source_of(table));
    if (watch == watches_.end() || !watch->second.entries) {
      // A source that is new: until it has answered, the table keeps what it has.
      if (const auto last = pictures_.find(table.name); last != pictures_.end())
        pictures.insert(*last);
      continue;
    }
    if (auto picture = picture_of(*watch->second.entries, table.name); !picture.empty())
      pictures[table.name] = std::move(picture);
  }
  return pictures;
}

void Discovery::remember(const Settings& file, const Pictures& last) {
  for (const auto& table : file.tables) {
    const auto found = last.find(table.name);
    if (!table.discovery || found == last.end()) continue;
    auto pictures = pictures_;
    pictures.insert(*found);
    if (const auto why = hooks_.judge(pictures))
      spdlog::warn("the former mirrors of table {} cannot be used: {}", table.name, *why);
    else
      pictures_ = std::move(pictures);
  }
}

void Discovery::adopt(const Settings& file) {
  if (stopped_) return;
  pictures_ = pictures_for(file);
  tables_.clear();
  for (const auto& table : file.tables)
    if (table.discovery) tables_.emplace(table.name, table);
  std::erase_if(watches_, [&](const auto& watch) {
    for (const auto& [name, table] : tables_)
      if (source_of(table) == watch.first) return false;
    board_.remove(text(watch.first));
    return true;
  });
  for (const auto& [name, table] : tables_)
    if (!watches_.contains(source_of(table))) follow(source_of(table));
}

void Discovery::follow(const DiscoverySource& source) {
  auto& watch = watches_[source];
  SourceRun run{.loop = loop_,
                .dns = dns_,
                .report = [this, source](auto entries) { reported(source, std::move(entries)); },
                .connected = source.kind == DiscoverySource::Kind::file ? nullptr : connected_};
  switch (source.kind) {
    case DiscoverySource::Kind::file:
      watch.source = std::make_unique<FileSource>(source, std::move(run));
      break;
    case DiscoverySource::Kind::etcd:
      watch.source = follow_etcd(source, std::move(run));
      break;
    case DiscoverySource::Kind::kubernetes:
      watch.source = follow_kubernetes(source, std::move(run));
      break;
  }
}

void Discovery::reported(const DiscoverySource& source,
                         std::expected<FoundEntries, std::string> entries) {
  auto& watch = watches_[source];
  watch.reported = true;
  const bool is_first = !watch.entries;
  const auto count = entries ? entries->size() : 0;
  const auto wrong = entries ? take(source, *std::move(entries)) : entries.error();
  if (wrong.empty()) return board_.good(text(source), count, WallTime::clock::now());
  const bool holds = !is_first || std::ranges::any_of(tables_, [&](const auto& table) {
    return source_of(table.second) == source && pictures_.contains(table.first);
  });
  board_.failed(text(source), wrong, holds ? kHeld : kAsWritten, WallTime::clock::now());
  hooks_.failed();
}

std::string Discovery::take(const DiscoverySource& source, FoundEntries entries) {
  auto& watch = watches_[source];
  auto pictures = pictures_;
  std::string wrong;
  for (const auto& [table, settings] : tables_) {
    if (source_of(settings) != source) continue;
    auto next = picture_of(entries, table);
    if (next.empty() && wrong.empty()) wrong = fmt::format("it has no mirror of table {}", table);
    const auto last = pictures.find(table);
    std::vector<unsigned> kept;
    if (last != pictures.end()) next = next_picture(settings, last->second, std::move(next), kept);
    if (!kept.empty() && wrong.empty())
      wrong = fmt::format(
          "it has no mirror of shard {} of table {} any more; a reload would drop "
          "the shard",
          fmt::join(kept, ", "), table);
    if (!next.empty()) pictures[table] = std::move(next);
  }
  if (watch.entries != entries || pictures != pictures_) {
    if (const auto why = hooks_.judge(pictures)) return *why;
    watch.entries = std::move(entries);
    if (pictures != pictures_) {
      pictures_ = std::move(pictures);
      hooks_.changed();
    }
  }
  return wrong;
}

bool Discovery::waiting() const {
  for (const auto& [source, watch] : watches_)
    if (!watch.reported) return true;
  return false;
}

std::string Discovery::why(const std::string& table) const {
  const auto of = tables_.find(table);
  if (of == tables_.end()) return "no mirror was found";
  const auto name = text(source_of(of->second));
  const auto numbers = board_.of(name);
  return fmt::format("no mirror was found: {}: {}", name,
                     numbers && !numbers->why.empty() ? numbers->why
                     : numbers && numbers->good_at    ? "it has none of this shard"
                                                      : "no answer yet");
}

}  // namespace karmad
