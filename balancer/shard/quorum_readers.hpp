#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "balancer/shard/shard_next.hpp"

namespace karmad {

/// One mirror that a quorum read asks, once.
struct Reader {
  ShardPart part;
  bool ended = false;
  bool taken_in = false;                    ///< its end was entered
  std::optional<std::uint64_t> generation;  ///< of its answer
  std::size_t gone_before = 0;              ///< of part.gone, what was known when it began

  std::size_t mirror() const { return *part.tried.begin(); }
  /// Its answer counts: it is not about the mirror's own trouble.
  bool counts() const {
    return ended && (part.answered() || part.outcome == Outcome::client_mistake);
  }
};

/// Those that are asked at the same time. All have ended before it goes.
class Readers {
 public:
  Readers(ShardCall& call, ShardNext next) : call_(call), next_(next) {}
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  const std::vector<std::unique_ptr<Reader>>& all() const { return readers_; }
  std::size_t running() const { return running_; }
  /// Those whose answers count.
  std::size_t counting() const;

  void start(std::unique_ptr<Reader> reader);
  /// Until one more has ended. They are cancelled once their answers are not needed any more.
  Task<void> wait();
  /// Whether they are not needed: the part is over, or the query is planned anew.
  bool over() const;
  /// Enters what they ended with. The part keeps why they failed.
  void settle_all();
  void clear();

 private:
  Task<void> go(Reader& reader);
  Task<void> sleep_on(Stop& stop);

  ShardCall& call_;
  ShardNext next_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::size_t running_ = 0;
  bool ended_since_ = false;
  Stop* waiting_ = nullptr;
};

}  // namespace karmad
