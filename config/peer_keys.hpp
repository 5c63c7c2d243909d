#pragma once

#include <string_view>

#include "config/sections.hpp"

namespace karmad {

/// True for a key of the search server's own configuration that means nothing here: local tables,
/// storage, logs, threads. Such keys are ignored with a notice, so that its files load.
bool is_ignored_peer_key(SectionKind kind, std::string_view key);

/// What an operator who set such a key of searchd expects and does not get, and what to do instead;
/// empty: nothing is missed. Such a key gets a warning of its own.
std::string_view missed_without(SectionKind kind, std::string_view key);

}  // namespace karmad
