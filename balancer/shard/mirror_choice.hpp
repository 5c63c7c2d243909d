#pragma once

#include <utility>
#include <vector>

#include "balancer/rules/generation.hpp"
#include "balancer/shard/shard_mirrors.hpp"
#include "balancer/shard/shard_rules.hpp"

namespace karmad {

/// What one line of attempts has learned of the mirrors, by their position: what its next choice
/// stays away from.
struct LineMemory {
  Candidates tried;
  Candidates avoided;           ///< taken only when no other mirror suits
  Candidates left_zones;        ///< in zones that it left: avoided, but taken rather than `avoided`
  Candidates excluded;          ///< not taken at all
  Candidates behind;            ///< said that they have not seen yet what the client has
  Candidates among;             ///< one of these is taken, while one suits; empty: any
  ToldGenerations generations;  ///< that mirrors told in error answers
  /// Mirrors that are gone as this request found out, and when; until a later ping says otherwise.
  std::vector<std::pair<std::size_t, TimePoint>> marked_unreachable;
};

/// The choice of a mirror for the next attempt of a line: by its rules, by what the line has
/// learned, and by what is known of the mirrors now. Holds references only. Allocates nothing but
/// in choose() where `among` narrows.
class MirrorChoice {
 public:
  MirrorChoice(const ShardRules& rules, const LineMemory& line, const ShardMoment& moment)
      : rules_(rules), line_(line), moment_(moment), view_(moment.mirrors.view()) {}

  /// What the next attempt asks the mirror set, mirrors that are full now included …
  SelectionCriteria criteria() const;
  /// … and without them.
  SelectionCriteria criteria_now() const;

  /// The mirror that the strategy chooses, with its slot; nothing: none suits, or none has a slot.
  std::optional<Pick> choose(SelectionCriteria criteria) const;
  /// A mirror that is tripped or could not be reached and is due for a probe, if it suits
  /// (CO-092), with its slot.
  std::optional<Pick> probe() const;

  /// The mirrors that suit and are not full, which this line has not tried yet.
  Candidates untried() const;
  /// Whether a mirror that suits was not tried yet, is not full, and is not known to be behind the
  /// generation that the client has seen (CO-077).
  bool has_up_to_date() const;
  /// Whether one of untried() is in another zone than `last`, and in none that the line has left.
  bool has_other_zone(std::optional<std::size_t> last) const;
  /// All that suit, whether full or not.
  Candidates suitable() const;
  /// The mirrors that could be chosen, each by itself, if they had a slot.
  Candidates suitable_if_free() const;
  /// The same, if some mirror has a limit: then they are full, as nothing was chosen.
  Candidates all_full() const;

 private:
  Candidates all() const { return Candidates::first(view_.picture.mirrors.size()); }
  Candidates excluded() const;
  Candidates suiting(Candidates from) const;
  Candidates too_old() const;
  Candidates unreachable() const;

  const ShardRules& rules_;
  const LineMemory& line_;
  const ShardMoment& moment_;
  const SetView& view_;
};

}  // namespace karmad
