#pragma once

#include "agent/dialect/dialect_kind.hpp"

namespace karmad {

/// The dialects of karmad. A program that links it may hand in others (Hooks::dialects).
Dialects dialects();

}  // namespace karmad
