#include "strategies/select.hpp"

namespace karmad {

std::optional<std::size_t> select(MirrorViews mirrors, Candidates avoided, const Strategy& strategy,
                                  RandomSource& random) {
  const auto all = Candidates::first(mirrors.size());
  if (all.empty()) return std::nullopt;
  const auto fresh = all - avoided;
  const auto accepted = strategy.narrow(mirrors, fresh.empty() ? all : fresh);
  return strategy.choose(mirrors, accepted, random);
}

}  // namespace karmad
