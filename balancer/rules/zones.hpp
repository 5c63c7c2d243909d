#pragma once

#include <span>
#include <string_view>

#include "strategies/candidates.hpp"
#include "strategies/read_preference.hpp"
#include "strategies/set_picture.hpp"

namespace karmad {

/// The zone (data centre) of a mirror: its tag `zone`; empty if it has none.
std::string_view zone_of(const SetDescription& picture, std::size_t mirror);

/// The mirrors in the same zone, itself included; empty for a mirror without a zone.
Candidates zone_mates(const SetDescription& picture, std::size_t mirror);

/// The mirrors to avoid in a choice among `all`: applies each of `reasons`, the strongest first, if
/// a suitable mirror remains. So if every suitable mirror has a reason against it, the one with the
/// weakest reason is used (CO-038).
Candidates avoided_for(const Need* need, const SetDescription& picture, Candidates all,
                       std::span<const Candidates> reasons);

/// Number of different zones of the mirrors.
std::size_t zones(const SetDescription& picture);

}  // namespace karmad
