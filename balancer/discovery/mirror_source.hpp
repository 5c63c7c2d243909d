#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "agent/transport/dns.hpp"
#include "agent/transport/loop/run_detached.hpp"
#include "balancer/discovery/found.hpp"

namespace karmad {

/// Access to the main thread's context for threads that may outlive it.
class MainThreadExecutor {
 public:
  explicit MainThreadExecutor(boost::asio::io_context& io) : io_(&io) {}
  MainThreadExecutor(const MainThreadExecutor&) = delete;
  MainThreadExecutor& operator=(const MainThreadExecutor&) = delete;

  /// Runs `job` on the main thread; does nothing after close(). Any thread.
  void post(std::move_only_function<void()> job) {
    const std::scoped_lock lock(mutex_);
    if (io_ != nullptr) boost::asio::post(*io_, std::move(job));
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    io_ = nullptr;
  }
  /// Only on the main thread, before close().
  boost::asio::io_context& io() { return *io_; }

 private:
  std::mutex mutex_;
  boost::asio::io_context* io_;
};

/// Runs `job`, which may block, on another thread, and `then` with its result on the main thread.
template <class Job, class Then>
void run_aside(const std::shared_ptr<MainThreadExecutor>& door, Job job, Then then) {
  run_detached([door, job = std::move(job), then = std::move(then)]() mutable {
    door->post([result = job(), last = std::move(then)]() mutable { last(std::move(result)); });
  });
}

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
  std::shared_ptr<MainThreadExecutor> door;
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
