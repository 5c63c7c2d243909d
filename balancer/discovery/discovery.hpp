#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/transport/loop/loop.hpp"
#include "agent/transport/resolve.hpp"
#include "balancer/discovery/found.hpp"
#include "balancer/discovery/source_status.hpp"

namespace karmad {

/// Follows a list of mirrors that is kept elsewhere, until it is destroyed. The loop's thread only;
/// waits for nothing there.
class MirrorSource {
 public:
  /// The list as it is now, or why it cannot be read. Called on the loop's thread, also if nothing
  /// has changed.
  using Report = std::function<void(std::expected<FoundEntries, std::string>)>;

  MirrorSource() = default;
  MirrorSource& operator=(MirrorSource&&) = delete;
  virtual ~MirrorSource() = default;
};

/// What a source needs to run.
struct SourceRun {
  Loop& loop;
  DnsSettings dns;
  MirrorSource::Report report;
  std::shared_ptr<void> connected;  ///< kept while the source has connections
};

// These read a list and then follow its changes; after a failure they try again, with growing
// pauses.
std::unique_ptr<MirrorSource> follow_etcd(const DiscoverySource& source, SourceRun run);
std::unique_ptr<MirrorSource> follow_kubernetes(const DiscoverySource& source, SourceRun run);

/// Follows the sources of all tables with `discovery` and keeps their last good pictures. Main
/// thread only.
class Discovery {
 public:
  /// Why these pictures cannot be used; nothing if they can.
  using Judge = std::function<std::optional<std::string>(const Pictures&)>;
  struct Hooks {
    Judge judge;
    std::function<void()> changed;  ///< pictures() is new
    std::function<void()> failed;   ///< why() may be new
  };

  Discovery(Loop& loop, DnsSettings dns, SourceStatus& board, Hooks hooks);
  ~Discovery();

  /// Before the first adopt(): the last pictures of a former process. Those that cannot be used
  /// with this configuration are left out.
  void remember(const Settings& file, const Pictures& last);
  /// Follows the sources of this configuration. Their tables get the pictures as they are now,
  /// without what was kept only because it had gone.
  void adopt(const Settings& file);
  /// The pictures that adopt() would give the tables.
  Pictures pictures_for(const Settings& file) const;
  const Pictures& pictures() const { return pictures_; }
  /// Whether a source has not reported anything yet.
  bool waiting() const;
  /// Why the table has no mirrors.
  std::string why(const std::string& table) const;
  /// Ends everything, for good; ended() once all connections are closed, which takes turns of the
  /// loop.
  void stop();
  bool ended() const { return connected_.use_count() == 1; }

 private:
  struct Watch {
    std::unique_ptr<MirrorSource> source;
    std::optional<FoundEntries> entries;  ///< the last good ones
    bool reported = false;
  };
  void follow(const DiscoverySource& source);
  void reported(const DiscoverySource& source, std::expected<FoundEntries, std::string> entries);
  /// Takes the entries over; what is wrong with them, if anything.
  std::string take(const DiscoverySource& source, FoundEntries entries);

  Loop& loop_;
  const DnsSettings dns_;
  SourceStatus& board_;
  const Hooks hooks_;
  std::map<DiscoverySource, Watch> watches_;
  std::map<std::string, TableSettings> tables_;
  Pictures pictures_;
  bool stopped_ = false;
  const std::shared_ptr<void> connected_ = std::make_shared<char>();
};

}  // namespace karmad
