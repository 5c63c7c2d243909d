#pragma once

#include <string>

#include "balancer/manual/command_text.hpp"

namespace karmad {

/// The manual page karmad(8), in roff. The same text always gives the same bytes.
std::string program_manual_page(const CommandText& program);

}  // namespace karmad
