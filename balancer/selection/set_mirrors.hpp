#pragma once

#include <fmt/format.h>

#include <boost/container/small_vector.hpp>
#include <utility>

#include "balancer/selection/shard_mirrors.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// The mirrors of a set as one worker sees them, and the slots taken for its next attempts.
class SetMirrors : public ShardMirrors {
 public:
  SetMirrors(MirrorSet& set, const InstanceSettings& settings, unsigned worker)
      : set_(set), settings_(settings), seen_by_(worker) {}

  const SetView& view() const override { return *set_.view(seen_by_); }
  std::string_view name(std::size_t mirror) const override { return set_[mirror].agent->name; }
  std::string shown_name(std::size_t mirror) const override {
    return hides_mirrors() ? fmt::format("mirror {}", mirror + 1) : set_[mirror].agent->name;
  }
  std::string shown_error(std::size_t mirror, std::string_view error) const override;
  std::string last_error(std::size_t mirror) const override {
    return set_[mirror].agent->last_error();
  }
  Candidates failing() const override;
  std::optional<Pick> pick(const SelectionCriteria& criteria, RandomSource& random) const override {
    return set_.pick(criteria, seen_by_, random);
  }
  Candidates acceptable(const SelectionCriteria& criteria) const override {
    return set_.acceptable(criteria, seen_by_);
  }
  bool pinged() const override { return set_.pinged(); }
  bool closed() const override { return set_.closed(seen_by_); }
  Candidates full() const override { return set_.full(); }
  OutOfService out_of_service() const override { return set_.out_of_service(); }
  std::optional<std::string> absent() const override {
    return set_[0].agent->absent() ? set_[0].agent->unresolved() : std::nullopt;
  }
  Candidates unasked(TimePoint now) const override { return set_.unasked(now); }
  Candidates at_starting_limit() const override { return set_.at_starting_limit(); }
  bool limited() const override;
  bool try_take_slot(std::size_t mirror) override;
  WaitQueue& wait_queue() override { return set_.wait_queue(); }
  std::uint64_t longest_queue() const override {
    return set_.longest_queue(settings_.max_in_flight_queue.value);
  }
  RecentLatency recent_latency() const override { return set_.recent_latency(); }
  bool loaded_for_hedging() const override;

  /// A slot that was granted, for the next attempt there.
  void add_slot(std::size_t mirror, AgentSlot slot) {
    taken_slots_.emplace_back(mirror, std::move(slot));
  }
  /// The slot that was taken for the next attempt there.
  AgentSlot use_slot(std::size_t mirror);
  /// Gives back those that are not used; false: there are none.
  bool return_slots();

 protected:
  MirrorSet& set_;

 private:
  bool hides_mirrors() const {
    return settings_.status_on_query_port.value != StatusOnQueryPort::yes;
  }

  const InstanceSettings& settings_;
  const unsigned seen_by_;
  boost::container::small_vector<std::pair<std::size_t, AgentSlot>, 1> taken_slots_;
};

}  // namespace karmad
