#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "agent/transport/dns.hpp"
#include "balancer/discovery/found.hpp"
#include "balancer/discovery/main_door.hpp"

namespace karmad {

/// Follows a list of mirrors that is kept elsewhere, until it is destroyed. Main thread only; waits
/// for nothing there.
class MirrorSource {
 public:
  /// The list as it is now, or why it cannot be read. Called on the main thread, also if nothing
  /// has changed.
  using Report = std::function<void(std::expected<FoundEntries, std::string>)>;

  MirrorSource() = default;
  MirrorSource(const MirrorSource&) = delete;
  MirrorSource& operator=(const MirrorSource&) = delete;
  virtual ~MirrorSource() = default;
};

/// What a source needs to run.
struct SourceRun {
  std::shared_ptr<MainDoor> door;
  DnsSettings dns;
  MirrorSource::Report report;
};

// A file is looked at every second, and read when it was changed.
std::unique_ptr<MirrorSource> follow_file(const DiscoverySource& source, SourceRun run);
// These two read a list and then follow its changes; after a failure they try again, with growing
// pauses.
std::unique_ptr<MirrorSource> follow_etcd(const DiscoverySource& source, SourceRun run);
std::unique_ptr<MirrorSource> follow_kubernetes(const DiscoverySource& source, SourceRun run);

}  // namespace karmad
