#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <functional>
#include <mutex>
#include <vector>

namespace karmad {

/// The only way for other threads to reach a loop. Asio is configured for a single thread, which
/// saves four locked instructions per handler. The inbox keeps the loop running until let_end().
class Inbox {
 public:
  using Job = std::move_only_function<void()>;

  /// Throws std::system_error if there is no free descriptor.
  explicit Inbox(boost::asio::io_context& io);

  /// Runs `job` on the loop's thread, after all jobs added before. Any thread; wakes the loop if
  /// the inbox was empty. Jobs that never run are destroyed with the inbox.
  void put(Job job);

  /// Lets the loop end when it has no other work. The loop's thread only.
  void let_end();

 private:
  void wait();
  void work_off();

  boost::asio::io_context& io_;
  boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> event_;
  bool may_end_ = false;
  std::vector<Job> at_hand_;
  std::mutex mutex_;  ///< protects the next
  std::vector<Job> jobs_;
};

}  // namespace karmad
