#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <functional>
#include <mutex>
#include <vector>

namespace karmad {

/// The only way into a loop from other threads. Asio is told that no other thread uses it, which
/// saves four locked instructions per handler. As long as it is there the loop does not end, until
/// it is allowed to.
class Inbox {
 public:
  using Job = std::move_only_function<void()>;

  /// Throws std::system_error without a descriptor to spare.
  explicit Inbox(boost::asio::io_context& io);
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Has `job` run in the loop's thread, after all that were put before it. From any thread; wakes
  /// the loop, where nothing was waiting yet. What the loop does not come to goes with the inbox.
  void put(Job job);

  /// From now on the loop ends when nothing else is under way. For its own thread.
  void let_end();

 private:
  void wait();
  void work_off();

  boost::asio::io_context& io_;
  boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> event_;
  bool may_end_ = false;
  std::vector<Job> at_hand_;
  std::mutex mutex_;  ///< of the next
  std::vector<Job> jobs_;
};

}  // namespace karmad
