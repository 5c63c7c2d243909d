#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

// A chart over time as SVG. Its unit is about a pixel on the narrowest screen (360 pixels); on
// wider ones it grows, and the style sheet makes the text smaller in exchange.

inline constexpr double kChartWidth = 344;
/// Space between two lines of text, from the largest font of the style sheet.
inline constexpr double kTextLine = 13;
/// Characters of the longest name that fits to the right of a chart.
inline constexpr std::size_t kLongestLabel = 15;

/// Rows above a chart for the texts of its marks, in turn.
inline constexpr std::size_t kMarkRows = 2;

struct ChartMark {
  double at = 0;  ///< s
  std::size_t number = 1;
  std::string text;
};

/// Where a chart has its plot, and what it covers.
struct ChartFrame {
  double height = 0;
  double seconds = 0;  ///< length of the time axis
  std::string title;   ///< accessible name
  std::string description;
  std::span<const ChartMark> marks;
  bool marks_have_text = false;

  double left() const { return 46; }
  double right() const { return kChartWidth - 96; }
  double top() const { return marks_have_text ? 5 + kTextLine * kMarkRows : 18; }
  double bottom() const { return height - 20; }
  double x(double second) const;
};

/// A vertical axis, linear or logarithmic.
class ChartScale {
 public:
  /// From 0 to `most` or a little more.
  static ChartScale linear(double most);
  /// From 0 to 1, with the half.
  static ChartScale shares();
  /// From `least` or a little less to `most` or a little more; both above 0.
  static ChartScale logarithmic(double least, double most);

  /// 0 at the lower end, 1 at the upper one.
  double place(double value) const;
  std::span<const double> ticks() const { return ticks_; }

 private:
  double low_ = 0;
  double high_ = 1;
  bool logarithmic_ = false;
  std::vector<double> ticks_;
};

/// `wanted` places moved apart to a distance of `gap` or, where there is no room, evenly; all
/// between `low` and `high`. Their order stays.
std::vector<double> spread_places(std::vector<double> wanted, double gap, double low, double high);

/// A coordinate with one decimal.
std::string coordinate(double value);

std::string begin_chart(const ChartFrame& frame);  ///< with the axis of time
/// Horizontal lines at the ticks; `text_of` gives each its label.
std::string value_axis(const ChartFrame& frame, const ChartScale& scale,
                       std::string (*text_of)(double));
std::string chart_marks(const ChartFrame& frame);
/// A name to the right of the plot at `y`, with a thin line to `from` if it had to move.
std::string chart_label(const ChartFrame& frame, std::string_view name, double from, double y,
                        std::string_view classes);
std::string end_chart();

}  // namespace karmad
