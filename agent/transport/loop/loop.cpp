#include "agent/transport/loop/loop.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace karmad {

namespace {

/// The loop running on this thread.
constinit thread_local const Loop* running = nullptr;

int make_event() {
  const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) throw std::system_error(errno, std::system_category(), "eventfd");
  return event;
}

}  // namespace

Inbox::Inbox(boost::asio::io_context& io) : io_(io), event_(io.get_executor(), make_event()) {
  wait();
}

void Inbox::put(Job job) {
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(std::move(job));
    if (jobs_.size() > 1) return;  // a wake-up is already pending
  }
  ::eventfd_write(event_.native_handle(), 1);
}

void Inbox::let_end() {
  // Asio counts the wait below as work and ends the loop without work; this subtracts it.
  if (!std::exchange(may_end_, true)) io_.get_executor().on_work_finished();
}

void Inbox::wait() {
  event_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                    [this](boost::system::error_code error) {
                      if (error) return;  // the inbox is being destroyed
                      eventfd_t unused = 0;
                      ::eventfd_read(event_.native_handle(), &unused);
                      wait();
                      work_off();
                    });
}

void Inbox::work_off() {
  {
    const std::scoped_lock lock(mutex_);
    at_hand_.swap(jobs_);
  }
  for (auto& job : at_hand_) job();
  at_hand_.clear();
}

Loop::Loop(unsigned number, std::size_t buffer_keep_up_to, std::uint64_t seed)
    : index(number),
      buffers(buffer_keep_up_to),
      io(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE),
      random(seed) {}

Loop::~Loop() {
  door_->close();
}

void LoopHandle::post(Inbox::Job job) {
  const std::scoped_lock lock(mutex_);
  if (loop_ != nullptr) loop_->post(std::move(job));
}

void LoopHandle::close() {
  const std::scoped_lock lock(mutex_);
  loop_ = nullptr;
}

void Loop::run() {
  running = this;
  io.run();
  running = nullptr;
}

void Loop::post(Inbox::Job job) {
  if (running == this) {
    asio::post(io, std::move(job));
  } else {
    inbox_.put(std::move(job));
  }
}

Task<bool> reserve(Loop& loop, MemoryReservation& memory, MemoryHolder* holder,
                   std::size_t capacity) {
  auto grant = memory.resize(holder, capacity);
  while (grant == MemoryGrant::later) {
    co_await next_turn(loop);
    grant = memory.resize(holder, capacity);
  }
  co_return grant == MemoryGrant::granted;
}

namespace {

/// Whether a large body is being copied on this thread. The body exists twice meanwhile, so only
/// one copy at a time is allowed.
thread_local bool copying = false;

struct Copying {
  Copying() { copying = true; }
  Copying& operator=(Copying&&) = delete;
  ~Copying() { copying = false; }
};

}  // namespace

Task<void> grow(Loop& loop, std::string& bytes, std::size_t room) {
  while (copying) co_await loop.turn.next();
  const Copying one_at_a_time;
  auto larger = loop.buffers.take(room);
  for (std::size_t copied = 0; copied < bytes.size();) {
    if (loop.turn.over()) co_await loop.turn.next();
    const auto piece = std::string_view(bytes).substr(copied, LoopTurn::kMostBytes);
    larger.append(piece);
    loop.turn.spend(piece.size());
    copied += piece.size();
  }
  loop.buffers.give(std::exchange(bytes, std::move(larger)));
}

namespace {

struct Alarm final : Deadline {
  AsyncEvent signal;
  void expired() override { signal.notify(); }
};

}  // namespace

Task<void> sleep(Loop& loop, TimePoint until, Stop& stop) {
  if (stop.requested()) co_return;
  constexpr Micros kShort{100'000};  // ten milliseconds matter before a hedge or a retry
  Alarm alarm;
  if (until - loop.coarse_now() <= kShort)
    loop.arm_finely(alarm, until);
  else
    loop.arm(alarm, until);
  const auto guard = stop.calling<&AsyncEvent::notify>(alarm.signal);
  co_await alarm.signal;
}

}  // namespace karmad
