#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "agent/transport/loop/loop.hpp"
#include "agent/transport/loop/thread_pool.hpp"
#include "agent/transport/resolve.hpp"
#include "balancer/discovery/found.hpp"

namespace karmad {

/// Runs `job`, which may block, on another thread, and `then` with its result on the loop's.
template <class Job, class Then>
void run_aside(Loop& loop, Job job, Then then) {
  run_detached([door = loop.door(), job = std::move(job), then = std::move(then)]() mutable {
    door->post([result = job(), last = std::move(then)]() mutable { last(std::move(result)); });
  });
}

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

// A file is looked at every second, and read when it was changed.
std::unique_ptr<MirrorSource> follow_file(const DiscoverySource& source, SourceRun run);
// These two read a list and then follow its changes; after a failure they try again, with growing
// pauses.
std::unique_ptr<MirrorSource> follow_etcd(const DiscoverySource& source, SourceRun run);
std::unique_ptr<MirrorSource> follow_kubernetes(const DiscoverySource& source, SourceRun run);

}  // namespace karmad
