#pragma once

#include <span>
#include <string>
#include <vector>

#include "balancer/simulate/svg_frame.hpp"

namespace karmad {

/// How a line is drawn: classes of the style sheet for its colour, and dashes, so that lines differ
/// without colours too.
struct LineStyle {
  std::string classes;
  std::string dashes;  ///< value of `stroke-dasharray`; empty: none
};
/// Of the strategy at that position.
LineStyle line_style(std::size_t strategy, bool oracle);
/// A short piece of that line, for tables.
std::string line_sample(const LineStyle& style);

struct ChartLine {
  std::string name;
  LineStyle style;
  std::vector<double> values;  ///< one per point of time; NaN: none
};
struct LineChart {
  ChartFrame frame;
  std::span<const double> times;  ///< s
  std::vector<ChartLine> lines;
  bool logarithmic = false;  ///< values above 0 only; others are left out
  std::string (*text_of)(double) = nullptr;
};
std::string line_chart(const LineChart& chart);

struct ChartBand {
  std::string name;
  bool emphasized = false;
  std::vector<double> values;  ///< one per interval, at least 0
};
/// Bands on each other: shares, with a sum of at most 1 in each interval.
struct BandChart {
  ChartFrame frame;
  std::span<const double> starts;  ///< of the intervals, in s; the last one ends with the frame
  std::vector<ChartBand> bands;    ///< from the bottom
  double most = 1;                 ///< upper end of the scale, above 0
};
std::string band_chart(const BandChart& chart);
/// The patterns that emphasized bands use: once per page.
std::string chart_patterns();

}  // namespace karmad
