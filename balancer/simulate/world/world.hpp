#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "balancer/simulate/scenario/scenario.hpp"
#include "balancer/simulate/world/event_queue.hpp"
#include "balancer/simulate/world/fleet.hpp"
#include "balancer/simulate/world/recorder.hpp"

namespace karmad::simulate {

/// Objects with numbers; a number is used again, the last one first. T has a member `version`,
/// which changes when the object is returned. Objects never move.
template <class T>
class ObjectPool {
 public:
  std::uint32_t take() {
    if (free_.empty()) {
      objects_.emplace_back();
      return size() - 1;
    }
    const auto index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::uint32_t index) {
    ++objects_[index].version;
    free_.push_back(index);
  }
  T& operator[](std::uint32_t index) { return objects_[index]; }
  /// Null: the object was returned since.
  T* find(ObjectName name) {
    auto& object = objects_[name.index];
    return object.version == name.version ? &object : nullptr;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(objects_.size()); }
  std::size_t in_use() const { return objects_.size() - free_.size(); }

 private:
  std::deque<T> objects_;
  std::vector<std::uint32_t> free_;
};

/// What all parts of one simulation share.
struct World {
  World(const Scenario& of, std::uint64_t with_seed)
      : scenario(of),
        seed(with_seed),
        layout(layout_of(of)),
        begin(kStart + Micros{std::llround(of.warmup * 1e6)}),
        end(begin + Micros{std::llround(of.duration * 1e6)}),
        fleet(of, events, with_seed, begin),
        recorder(of, layout, begin) {}
  World& operator=(World&&) = delete;

  /// Zero would mean "never" in some counters; a full hour begins a period of any usual length.
  static constexpr TimePoint kStart{std::chrono::hours(1)};

  const Scenario& scenario;
  const std::uint64_t seed;
  const SetLayout layout;
  const TimePoint begin;  ///< of the measurement
  const TimePoint end;
  EventQueue events;
  Fleet fleet;
  Recorder recorder;
  TimePoint now = kStart;
};

/// Decides which mirror gets which request: the masters of karmad, or the oracle.
class Balancer {
 public:
  virtual ~Balancer() = default;
  virtual void request_arrives(unsigned master, unsigned set) = 0;
  /// An event that is neither an arrival nor one of the fleet.
  virtual void handle(const Event& event) = 0;
  /// The scenario has changed a mirror; `reset`: its connections were reset.
  virtual void mirror_changed(unsigned mirror, bool reset) = 0;
  /// Requests without an end.
  virtual std::size_t in_progress() const = 0;
};

}  // namespace karmad::simulate
