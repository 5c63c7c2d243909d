#pragma once

#include <string_view>

#include "config/text/sections.hpp"

namespace karmad {

/// True for a key of the search server's configuration without a meaning here: local tables,
/// storage, logs, threads. Such keys are ignored with a notice, so that its files can be loaded.
bool is_ignored_peer_key(SectionKind kind, std::string_view key);

/// The effect that the operator may expect from such a key of searchd but does not get, and what to
/// do instead, for a warning. Empty: no effect is missed.
std::string_view missed_without(SectionKind kind, std::string_view key);

}  // namespace karmad
