#pragma once

#include "balancer/simulate/scenario/random_streams.hpp"
#include "balancer/simulate/world/object_pool.hpp"
#include "balancer/simulate/world/world.hpp"

namespace karmad {

/// The balancer with full knowledge, to compare strategies with: one for all masters, it knows each
/// mirror's queue, speed, pauses and faults, and sends each request to the mirror with the shortest
/// expected time. It repeats failed attempts elsewhere at once, and takes attempts away from a
/// mirror in the moment that it stops to answer. It refuses requests that would wait in every queue
/// for half of the scenario's `slo` or longer. It knows no service time in advance, and it does not
/// hedge.
class Oracle final : public SimulatedBalancer {
 public:
  explicit Oracle(SimulatedWorld& world);

  void request_arrives(unsigned master, unsigned set) override;
  void handle(const SimulatedEvent& event) override;
  void mirror_changed(unsigned mirror, bool reset) override;
  std::size_t in_progress() const override { return requests_.in_use(); }

 private:
  static constexpr unsigned kNone = UINT32_MAX;
  struct Request {
    std::uint32_t version = 0;  ///< also of its attempt: an attempt that was replaced has another
    TimePoint arrived{};
    unsigned set = 0;
    unsigned mirror = kNone;  ///< of the attempt in progress
    unsigned attempts = 0;
    std::uint32_t attempt = 0;  ///< version of the attempt in progress
  };

  void send(std::uint32_t index);
  void end_attempt(Request& request);
  void end(std::uint32_t index, bool answered);
  unsigned best(unsigned set);
  bool is_too_late(unsigned mirror) const;

  SimulatedWorld& world_;
  SeededRandom random_;
  ObjectPool<Request> requests_;
  Micros client_timeout_;
};

}  // namespace karmad
