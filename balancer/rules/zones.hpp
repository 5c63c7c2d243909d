#pragma once

#include <span>
#include <string_view>

#include "strategies/candidates.hpp"
#include "strategies/read_preference.hpp"
#include "strategies/set_picture.hpp"

namespace karmad {

/// The zone (data centre) a mirror is in: its tag `zone`. Empty: it has none.
std::string_view zone_of(const SetPicture& picture, std::size_t mirror);

/// The mirrors in the same zone, itself included; empty for a mirror without a zone.
Candidates zone_mates(const SetPicture& picture, std::size_t mirror);

/// What a choice among `all` stays away from: each of `reasons`, the weightiest first, that still
/// leaves a suitable mirror. So when all suitable mirrors have a reason against them, the one with
/// the lightest reason is used (CO-038).
Candidates avoided_for(const Need* need, const SetPicture& picture, Candidates all,
                       std::span<const Candidates> reasons);

/// How many zones its mirrors are in.
std::size_t zones(const SetPicture& picture);

}  // namespace karmad
