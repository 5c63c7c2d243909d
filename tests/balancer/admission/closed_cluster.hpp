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

/// The fixed sizes at which a probe that pays `gain` for tickets has no reason to move: a fifth
/// more tickets bring less than they must, and a fifth fewer cost more than they may.
struct WorthwhileSizes {
  unsigned fewest = 0;
  unsigned most = 0;
  double throughput = 0;  ///< with the fewest, per second
};
inline WorthwhileSizes worthwhile_sizes(const ClusterOf& of, double gain) {
  constexpr double kSeconds = 60;
  constexpr double kStep = 1.2;
  const auto all = of.agents * of.servers;
  std::vector<double> measured{0};  // by the number of tickets
  while (measured.size() <= 2 * all) {
    ClosedCluster cluster(of, 1, static_cast<unsigned>(measured.size()));
    cluster.run_until(kSeconds);
    measured.push_back(static_cast<double>(cluster.finished()) / kSeconds);
  }
  const auto at = [&](double tickets) {
    const auto whole = static_cast<std::size_t>(tickets);
    const auto part = tickets - static_cast<double>(whole);
    return part == 0 ? measured[whole] : (1 - part) * measured[whole] + part * measured[whole + 1];
  };
  WorthwhileSizes found;
  for (unsigned tickets = 2; kStep * tickets < 2 * all; ++tickets) {
    if (at(kStep * tickets) >= (1 + gain * (kStep - 1)) * at(tickets)) {
      found = {};  // more of them pay
    } else if (found.fewest == 0) {
      found = {tickets, tickets, at(tickets)};
    } else if (at(tickets / kStep) < (1 - gain * (1 - 1 / kStep)) * at(tickets)) {
      found.most = tickets;
    }
  }
  return found;
}

}  // namespace karmad::test
