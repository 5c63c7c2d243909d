#pragma once

#include <set>
#include <string>
#include <vector>

#include "balancer/discovery/found.hpp"

namespace karmad {

// How the settings of the file become those in use. Pure.

/// The entries that are for this table.
Picture picture_of(const FoundEntries& entries, const std::string& table);

/// The next picture of a table. A shard that has no mirrors in it keeps its last ones, since
/// without it answers would lack a part of the data; its number is added to `kept`.
Picture next_picture(const Picture& last, Picture next, std::vector<unsigned>& kept);

/// Replaces the mirrors of tables with `discovery` by those of their pictures. A shard without any
/// mirror gets one that stands for none (is_placeholder()).
Settings with_pictures(Settings settings, const Pictures& pictures);

/// What must be looked up for these settings. `expands`: only the names that may stand for several
/// mirrors.
std::set<NameQuestion> questions_of(const Settings& settings, bool expands);

/// Replaces mirrors whose names stand for several mirrors (`resolve`) by these. Names without an
/// answer stay as they are. A line keeps its first 64 mirrors in the order of addresses, those with
/// a weight first; each cut adds a sentence to `cuts`.
Settings with_names(Settings settings, const NameAnswers& names, std::vector<std::string>& cuts);

/// Both.
Settings with_found(Settings settings, const FoundMirrors& found, std::vector<std::string>& cuts);

/// Whether the address stands for a mirror that has not been found.
bool is_placeholder(const Address& address);
/// The table that lacks it.
std::string table_of_placeholder(const Address& address);

/// The mirrors that came and went, for people; empty if none did.
std::string mirror_changes(const Settings& before, const Settings& after);

}  // namespace karmad
