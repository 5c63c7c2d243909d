#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "balancer/client/top_view.hpp"

namespace karmad {

/// The space and the abilities of a terminal.
struct TopStyle {
  std::size_t columns = 0;  ///< 0: unlimited
  std::size_t rows = 0;     ///< 0: unlimited
  bool colours = false;
  bool utf8 = true;
};

/// The lines of `karmad top`: the verdict, the rates, the mirrors with those in trouble first, the
/// diagnoses that the verdict does not have, the last events. No line is wider than the terminal,
/// apart from codes of colours; the verdict and the diagnoses are wrapped, other lines are cut.
std::vector<std::string> top_lines(const TopView& view, const TopStyle& style);

/// The same as one JSON document in one line.
std::string top_json(const TopView& view);

}  // namespace karmad
