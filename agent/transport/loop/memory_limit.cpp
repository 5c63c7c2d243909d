#include "agent/transport/loop/memory_limit.hpp"

#include <algorithm>
#include <cassert>

namespace karmad {
namespace {

constexpr std::int64_t kReportStep = 64 << 10;  // granularity of a worker's reports

std::uint64_t counted(std::size_t capacity) {
  return capacity <= kUncountedBuffer ? 0 : capacity;
}

}  // namespace

MemoryVerdict judge_memory(std::uint64_t limit, std::uint64_t used, std::uint64_t held,
                           std::uint64_t wanted) {
  if (limit == 0 || wanted <= held) return MemoryVerdict::granted;
  const auto after = used + (wanted - held);
  const bool becomes_large = held <= kSmallRequest && wanted > kSmallRequest;
  if (becomes_large && after > limit / 10 * 9) return MemoryVerdict::refused;
  return after > limit ? MemoryVerdict::over_limit : MemoryVerdict::granted;
}

void write(StatsWriter& out, const MemoryLimit& memory) {
  using enum StatKind;
  out.add({"memory_used", "bytes of buffers that requests hold", gauge, Unit::bytes},
          memory.used());
  out.add({"memory_peak", "highest value of memory_used", gauge, Unit::bytes}, memory.peak());
  out.add({"memory_limit", "value of memory_limit in bytes; 0: no limit", gauge, Unit::bytes},
          memory.limit());
}

std::uint64_t MemoryLimit::used() const {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, used_.load(std::memory_order_relaxed)));
}

std::uint64_t MemoryLimit::peak() const {
  return static_cast<std::uint64_t>(peak_.load(std::memory_order_relaxed));
}

void MemoryLimit::add(std::int64_t bytes) {
  const auto now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  auto peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

std::uint64_t MemoryLedger::used() const {
  const auto all = static_cast<std::int64_t>(limit_->used()) + (held_ - published_) -
                   static_cast<std::int64_t>(leaving_);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, all));
}

void MemoryLedger::publish() {
  const auto news = held_ - published_;
  if (limit_ == nullptr || news == 0) return;
  if (news < kReportStep && news > -kReportStep && held_ != 0) return;
  limit_->add(news);
  published_ = held_;
}

void MemoryLedger::take(MemoryHolder& holder, std::uint64_t bytes) {
  if (holder.held_ == 0) {
    holder.place_ = holders_.size();
    holders_.push_back(&holder);
  }
  holder.held_ += bytes;
  held_ += static_cast<std::int64_t>(bytes);
  if (holder.denied()) leaving_ += bytes;
  publish();
}

void MemoryLedger::give_back(MemoryHolder& holder, std::uint64_t bytes) {
  assert(bytes <= holder.held_);
  holder.held_ -= bytes;
  held_ -= static_cast<std::int64_t>(bytes);
  if (holder.denied()) leaving_ -= bytes;
  if (holder.held_ == 0 && bytes != 0) {
    holders_.back()->place_ = holder.place_;
    holders_[holder.place_] = holders_.back();
    holders_.pop_back();
  }
  publish();
}

void MemoryLedger::deny(MemoryHolder& holder, MemoryDenial why) {
  holder.denial_ = why;
  leaving_ += holder.held_;
  holder.on_denied(why);
}

/// Cancels idle holders until `bytes` are free. False: all of them do not have so much, or nothing
/// was to be done.
bool MemoryLedger::end_idle(const MemoryHolder& asker, std::uint64_t bytes) {
  std::vector<MemoryHolder*> idle;
  std::uint64_t sum = 0;
  for (auto* holder : holders_) {
    if (holder == &asker || holder->denied() || !holder->idle()) continue;
    idle.push_back(holder);
    sum += holder->held_;
  }
  if (sum == 0 || sum < bytes) return false;
  std::ranges::sort(idle, std::ranges::greater(), &MemoryHolder::held_);
  std::uint64_t freed = 0;
  for (auto next = idle.begin(); freed < bytes; ++next) {
    freed += (*next)->held_;
    deny(**next, MemoryDenial::given_up);
  }
  return true;
}

MemoryVerdict MemoryLedger::judge(const MemoryHolder& asker, std::uint64_t more) {
  const auto limit = limit_->limit();
  const auto verdict = judge_memory(limit, used(), asker.held_, asker.held_ + more);
  if (verdict == MemoryVerdict::granted) return verdict;
  const auto room = verdict == MemoryVerdict::refused ? limit / 10 * 9 : limit;
  if (!end_idle(asker, used() + more - room)) return verdict;
  return judge_memory(limit, used(), asker.held_, asker.held_ + more);
}

/// Linear in the number of large requests, but each search cancels one of them.
bool MemoryLedger::make_room(MemoryHolder& asker, std::uint64_t more) {
  while (used() + more > limit_->limit()) {
    MemoryHolder* largest = &asker;
    auto most = asker.held_ + more;
    for (auto* holder : holders_)
      if (!holder->denied() && holder->held_ > most) {
        largest = holder;
        most = holder->held_;
      }
    deny(*largest, MemoryDenial::given_up);
    if (largest == &asker) return false;
  }
  return true;
}

MemoryGrant MemoryLedger::ask(MemoryHolder& asker, std::uint64_t more) {
  if (asker.denied()) return MemoryGrant::denied;
  if (limit_ != nullptr && limit_->limit() != 0) {
    switch (judge(asker, more)) {
      case MemoryVerdict::granted:
        break;
      case MemoryVerdict::refused:
        deny(asker, MemoryDenial::refused);
        return MemoryGrant::denied;
      case MemoryVerdict::over_limit:
        if (!make_room(asker, more)) return MemoryGrant::denied;
    }
    if (leaving_ > 0 && used() + leaving_ + more > limit_->limit()) return MemoryGrant::later;
  }
  take(asker, more);
  return MemoryGrant::granted;
}

MemoryGrant MemoryLedger::charge(MemoryHolder& holder, std::uint64_t more) {
  if (limit_ != nullptr && limit_->limit() != 0 && !holder.denied()) make_room(holder, more);
  take(holder, more);
  return MemoryGrant::granted;
}

MemoryHolder::~MemoryHolder() {
  assert(held_ == 0);
}

void MemoryHolder::forgive() {
  if (denied()) ledger_.leaving_ -= held_;
  denial_ = MemoryDenial::none;
}

bool MemoryHolder::admits(std::uint64_t bytes) {
  if (denied()) return false;
  if (ledger_.limit_ == nullptr || bytes <= kSmallRequest) return true;
  if (ledger_.judge(*this, bytes) == MemoryVerdict::granted) return true;
  ledger_.deny(*this, MemoryDenial::refused);
  return false;
}

MemoryGrant MemoryReservation::change(MemoryHolder* holder, std::size_t capacity,
                                      MemoryLedger::Take take) {
  const auto bytes = counted(capacity);
  if (holder == nullptr || bytes == bytes_) return MemoryGrant::granted;
  assert(bytes_ == 0 || holder_ == holder);
  holder_ = holder;
  if (bytes < bytes_) {
    holder->ledger().give_back(*holder, bytes_ - bytes);
  } else if (const auto grant = (holder->ledger().*take)(*holder, bytes - bytes_);
             grant != MemoryGrant::granted) {
    return grant;
  }
  bytes_ = bytes;
  return MemoryGrant::granted;
}

void MemoryReservation::drop() {
  holder_->ledger().give_back(*holder_, std::exchange(bytes_, 0));
}

}  // namespace karmad
