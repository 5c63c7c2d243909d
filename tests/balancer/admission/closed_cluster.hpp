#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace karmad::test {

/// Agents that serve `servers` requests at a time each, 10 ms on average (exponential), and keep
/// the rest waiting. Each request beyond the servers makes an agent slower by the part `crowding`.
struct ClusterOf {
  unsigned agents = 3;
  unsigned servers = 4;
  double crowding = 0;
};

/// Such agents behind a pool whose tickets are all out all the time: who comes back is replaced at
/// once, by a request to the less busy of two agents. What has no memory needs no list of who is
/// served: an agent gives an answer at a rate that its crowd says.
class ClosedCluster {
 public:
  ClosedCluster(const ClusterOf& of, std::uint64_t seed, unsigned tickets)
      : of_(of), random_(seed), inside_(of.agents), tickets_(tickets) {}

  /// Fewer take effect as tickets come back.
  void tickets(unsigned tickets) { tickets_ = tickets; }
  void servers(unsigned servers) { of_.servers = servers; }

  void run_until(double seconds) {
    while (true) {
      for (; out_ < tickets_; ++out_) ++inside_[less_busy_of_two()];
      double rate = 0;
      for (const auto inside : inside_) rate += rate_of(inside);
      now_ -= std::log(1 - part()) / rate;
      if (now_ > seconds) break;
      auto which = part() * rate;
      std::size_t agent = 0;
      while (agent + 1 < inside_.size() && which >= rate_of(inside_[agent]))
        which -= rate_of(inside_[agent++]);
      --inside_[agent];
      --out_;
      ++finished_;
    }
    now_ = seconds;
  }

  unsigned out() const { return out_; }
  std::uint64_t finished() const { return finished_; }

 private:
  double part() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  double rate_of(unsigned inside) const {
    const auto serving = std::min(inside, of_.servers);
    return serving / 0.010 / (1 + of_.crowding * (inside - serving));
  }

  std::size_t less_busy_of_two() {
    const auto first = random_() % inside_.size();
    const auto other = (first + 1 + random_() % (inside_.size() - 1)) % inside_.size();
    return inside_[other] < inside_[first] ? other : first;
  }

  ClusterOf of_;
  std::mt19937_64 random_;
  std::vector<unsigned> inside_;
  unsigned tickets_;
  unsigned out_ = 0;
  std::uint64_t finished_ = 0;
  double now_ = 0;
};

/// The smallest fixed number of tickets whose throughput is within 2 % of the highest.
struct BestFixed {
  unsigned tickets = 0;
  double throughput = 0;  ///< the highest, per second
};
inline BestFixed best_fixed(const ClusterOf& of) {
  constexpr double kSeconds = 30;
  const auto all = of.agents * of.servers;
  std::vector<BestFixed> measured;
  for (auto tickets = 2 * all / 3; tickets <= 3 * all; tickets += 1 + tickets / 20) {
    ClosedCluster cluster(of, 1, tickets);
    cluster.run_until(kSeconds);
    measured.push_back({tickets, static_cast<double>(cluster.finished()) / kSeconds});
  }
  const auto highest = std::ranges::max(measured, {}, &BestFixed::throughput).throughput;
  const auto enough = [&](const BestFixed& each) { return each.throughput >= 0.98 * highest; };
  return {std::ranges::find_if(measured, enough)->tickets, highest};
}

}  // namespace karmad::test
