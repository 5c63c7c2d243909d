#pragma once

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {

/// The built-in dialects. A program that links karmad may pass other ones (Hooks::dialects).
Dialects dialects();

}  // namespace karmad
