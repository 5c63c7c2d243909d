#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/mirrors/mirror_set.hpp"
#include "agent/stats/outcome.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "balancer/topology/topology.hpp"
#include "balancer/trace/request_identity.hpp"

namespace karmad {

/// The first bytes of a text; never allocates.
template <std::size_t kMost>
class ShortText {
 public:
  ShortText() {}  // NOLINT: only `size_` bytes are read
  ShortText& operator=(std::string_view text) {
    size_ = static_cast<std::uint8_t>(text.copy(bytes_.data(), kMost));
    return *this;
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  static_assert(kMost < 256);
  std::uint8_t size_ = 0;
  std::array<char, kMost> bytes_;
};

/// One choice of a mirror: what it saw, what it decided, and the attempt that followed. Times count
/// from the begin of the request.
struct ExplainedChoice {
  // NOLINTBEGIN: with `= default` they would be filled with zeros first
  ExplainedChoice() {}
  /// The attempt at the chosen mirror.
  struct Attempt {
    Attempt() {}
    // NOLINTEND
    AttemptReason reason = AttemptReason::initial;
    Micros pause{};  ///< before it
    Micros started{};
    std::optional<Micros> connecting;  ///< if it had to connect
    std::optional<Micros> first_byte;  ///< of the reply, if the time was noted
    std::optional<Micros> took;        ///< unset while it runs
    Outcome outcome = Outcome::cancelled;
    int status = 0;  ///< of the reply; 0: none
    ShortText<95> error;
  };

  const Shard* shard = nullptr;  ///< of the record's topology
  unsigned shard_number = 0;     ///< of the table, from 1
  ViewPtr view;                  ///< of the mirrors
  std::size_t first_number = 0;  ///< of its mirrors' numbers in the record; one per mirror follows
  bool told = false;             ///< no selection: an error answer named the mirror
  std::optional<Attempt> attempt;
  PickSteps steps;
  ShortText<127> refused;  ///< why the selection failed; empty: it did not
};

/// What karmad decided about a request, of limited size: kChoices choices, and the numbers of
/// kNumbers mirrors. The worker of the request only.
struct ExplainRecord {
  static constexpr std::size_t kChoices = 32;
  static constexpr std::size_t kNumbers = 128;
  static constexpr std::size_t kUsualChoices = 2;
  static constexpr std::size_t kUsualNumbers = 8;

  /// Has room for the choices of most requests; grows to these numbers, and keeps what it grew to.
  explicit ExplainRecord(std::size_t choices_at_most = kChoices,
                         std::size_t numbers_at_most = kNumbers)
      : most_choices(choices_at_most), most_numbers(numbers_at_most) {
    choices.reserve(std::min(most_choices, kUsualChoices));
    numbers.reserve(std::min(most_numbers, kUsualNumbers));
  }

  std::size_t most_choices;
  std::size_t most_numbers;
  std::uint64_t query = kNone;  ///< its id in this process; kNone: the record is empty
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  TimePoint began{};
  const Topology* topology = nullptr;  ///< of the table and the shards; the ring keeps it alive
  const Table* table = nullptr;
  Need need;
  std::vector<ExplainedChoice> choices;
  std::vector<MirrorView> numbers;  ///< `used_numbers` of them
  std::size_t used_numbers = 0;
  std::size_t left_out = 0;  ///< choices without room

  // Set at the end of the request.
  std::optional<Micros> took;
  int status = 0;
  Micros queued{};              ///< time waited for tickets
  std::optional<Micros> merge;  ///< time of merging the replies, if there was something to merge
  bool partial = false;
  ShortText<RequestId::kLongest> request_id;  ///< empty: it has none
  std::string plan;  ///< as describe() tells it, if the client asks for it; empty: it has none

  /// A new choice among `mirrors` mirrors, with room for their numbers; null, and counted, if the
  /// record is full. The pointer is valid until the next call.
  ExplainedChoice* add(std::size_t mirrors) {
    const auto used = used_numbers + mirrors;
    if (choices.size() == most_choices || used > most_numbers) {
      ++left_out;
      return nullptr;
    }
    auto& choice = choices.emplace_back();
    choice.first_number = std::exchange(used_numbers, used);
    if (used > numbers.size()) numbers.resize(used);
    return &choice;
  }
  /// Loads the memory of the first choice into the cache, while other work goes on.
  void prefetch() const;
  /// Removes everything of the request before.
  void clear();
};

/// The records of the last requests of one worker; a new one replaces the oldest. Its worker only.
class ExplainRing {
 public:
  /// Keeps that many records, which are empty first; 0: none.
  void keep(std::size_t records);
  bool enabled() const { return !records_.empty(); }

  /// Starts the record of a request, and returns its place. Only if enabled.
  std::size_t begin(std::uint64_t query);
  /// The record of a request; null if another one has taken its place.
  ExplainRecord* at(std::size_t place, std::uint64_t query) {
    return place < records_.size() && records_[place].query == query ? &records_[place] : nullptr;
  }

  /// The newest record of the request with this X-Request-Id, or with this number in the process;
  /// null: there is none.
  const ExplainRecord* find(std::string_view request_id) const;

  /// Takes the topology of the next records. It and the one before are kept alive; records of older
  /// ones are emptied, so that a reload frees their memory.
  void adopt(std::shared_ptr<const Topology> next);
  /// Whether a record may refer to this topology.
  bool keeps(const Topology* topology) const {
    return topology == kept_[0].get() || topology == kept_[1].get();
  }

 private:
  std::vector<ExplainRecord> records_;
  std::size_t next_ = 0;
  std::array<std::shared_ptr<const Topology>, 2> kept_;  ///< the newest one first
};

}  // namespace karmad
