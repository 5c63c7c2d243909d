#include "balancer/simulate/svg_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "balancer/simulate/html_text.hpp"

namespace karmad {
namespace {

constexpr std::size_t kLineColours = 8;  // classes c0 … c7 of the style sheet
/// Five patterns and eight colours: forty strategies have different lines.
constexpr std::array<std::string_view, 5> kDashes{"", "7 3", "2 2.5", "10 3 2 3", "5 2 1 2 1 2"};
constexpr std::size_t kBandPatterns = 4;

struct ValueRange {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
};

bool is_drawn(const LineChart& chart, double value) {
  return std::isfinite(value) && (value > 0 || !chart.logarithmic);
}

ValueRange value_range_of(const LineChart& chart) {
  ValueRange range;
  for (const auto& line : chart.lines)
    for (const auto value : line.values) {
      if (!is_drawn(chart, value)) continue;
      range.least = std::min(range.least, value);
      range.most = std::max(range.most, value);
    }
  return range;
}

double y_of(const ChartFrame& frame, double place) {
  return frame.bottom() - place * (frame.bottom() - frame.top());
}

std::string line_path(const LineChart& chart, const ChartScale& scale, const ChartLine& line) {
  std::string path;
  bool pen_down = false;
  bool single = false;  // a point without neighbours needs a length to be seen
  for (std::size_t i = 0; i < line.values.size() && i < chart.times.size(); ++i) {
    if (!is_drawn(chart, line.values[i])) {
      if (single) path += "h.1";
      pen_down = single = false;
      continue;
    }
    single = !pen_down;
    path += fmt::format("{}{} {}", pen_down ? 'L' : 'M', coordinate(chart.frame.x(chart.times[i])),
                        coordinate(y_of(chart.frame, scale.place(line.values[i]))));
    pen_down = true;
  }
  if (single) path += "h.1";
  return path;
}

/// Names at the last values of their lines.
std::string line_labels(const LineChart& chart, const ChartScale& scale) {
  std::vector<const ChartLine*> named;
  std::vector<double> wanted;
  for (const auto& line : chart.lines) {
    const auto last = std::ranges::find_if(line.values.rbegin(), line.values.rend(),
                                           [&](double value) { return is_drawn(chart, value); });
    if (last == line.values.rend()) continue;
    named.push_back(&line);
    wanted.push_back(y_of(chart.frame, scale.place(*last)));
  }
  const auto places = spread_places(wanted, kTextLine, chart.frame.top(), chart.frame.bottom());
  std::string out;
  for (std::size_t i = 0; i < named.size(); ++i)
    out += chart_label(chart.frame, named[i]->name, wanted[i], places[i], named[i]->style.classes);
  return out;
}

/// A band as steps: its value is constant within an interval.
std::string band_path(const BandChart& chart, const ChartScale& scale,
                      const std::vector<double>& lower, const std::vector<double>& upper) {
  const auto& frame = chart.frame;
  const auto y = [&](double value) { return coordinate(y_of(frame, scale.place(value))); };
  const auto count = chart.starts.size();
  auto path = fmt::format("M{} {}", coordinate(frame.x(chart.starts[0])), y(upper[0]));
  for (std::size_t i = 0; i < count; ++i) {
    const auto end = i + 1 < count ? chart.starts[i + 1] : frame.seconds;
    path += fmt::format("V{}H{}", y(upper[i]), coordinate(frame.x(end)));
  }
  for (auto i = count; i-- > 0;)
    path += fmt::format("V{}H{}", y(lower[i]), coordinate(frame.x(chart.starts[i])));
  return path + "Z";
}

std::string band_classes(const ChartBand& band, std::size_t emphasized, std::size_t neutral) {
  return band.emphasized ? fmt::format("band e{}", emphasized % kBandPatterns)
                         : fmt::format("band n{}", neutral % 2);
}

std::string share_text(double share) {
  return round_number(share * 100) + " %";
}

std::string dashes_attribute(const LineStyle& style) {
  return style.dashes.empty() ? std::string()
                              : fmt::format(" stroke-dasharray=\"{}\"", style.dashes);
}

}  // namespace

LineStyle line_style(std::size_t strategy, bool oracle) {
  if (oracle) return {.classes = "oracle", .dashes = "1 3"};
  return {.classes = fmt::format("c{}", strategy % kLineColours),
          .dashes = std::string(kDashes[strategy % kDashes.size()])};
}

std::string line_sample(const LineStyle& style) {
  return fmt::format(
      "<svg class=\"sample\" viewBox=\"0 0 28 8\" aria-hidden=\"true\"><path class=\"line {}\"{} "
      "d=\"M1 4H27\"/></svg>",
      style.classes, dashes_attribute(style));
}

std::string line_chart(const LineChart& chart) {
  const auto range = value_range_of(chart);
  if (range.least > range.most) return {};
  const auto scale = chart.logarithmic ? ChartScale::logarithmic(range.least, range.most)
                                       : ChartScale::linear(range.most);
  auto out = begin_chart(chart.frame) + value_axis(chart.frame, scale, chart.text_of) +
             chart_marks(chart.frame);
  for (const auto& line : chart.lines)
    out += fmt::format("<path class=\"line {}\"{} d=\"{}\"><title>{}</title></path>\n",
                       line.style.classes, dashes_attribute(line.style),
                       line_path(chart, scale, line), html_escaped(line.name));
  return out + line_labels(chart, scale) + end_chart();
}

std::string band_chart(const BandChart& chart) {
  if (chart.bands.empty() || chart.starts.empty()) return {};
  const auto scale = chart.most < 1 ? ChartScale::linear(chart.most) : ChartScale::shares();
  auto out = begin_chart(chart.frame);
  std::vector<double> lower(chart.starts.size());
  std::vector<double> wanted;
  std::size_t emphasized = 0;
  std::size_t neutral = 0;
  for (const auto& band : chart.bands) {
    auto upper = lower;
    for (std::size_t i = 0; i < upper.size(); ++i) upper[i] += band.values[i];
    out += fmt::format("<path class=\"{}\" d=\"{}\"><title>{}</title></path>\n",
                       band_classes(band, emphasized, neutral),
                       band_path(chart, scale, lower, upper), html_escaped(band.name));
    ++(band.emphasized ? emphasized : neutral);
    wanted.push_back(y_of(chart.frame, scale.place((lower.back() + upper.back()) / 2)));
    lower = std::move(upper);
  }
  out += value_axis(chart.frame, scale, share_text) + chart_marks(chart.frame);
  const auto places = spread_places(wanted, kTextLine, chart.frame.top(), chart.frame.bottom());
  for (std::size_t i = 0; i < chart.bands.size(); ++i)
    out += chart_label(chart.frame, chart.bands[i].name, wanted[i], places[i],
                       chart.bands[i].emphasized ? "strong" : "");
  return out + end_chart();
}

std::string chart_patterns() {
  constexpr std::array<std::string_view, kBandPatterns> kPaths{"M-1 7L7 -1", "M-1 -1L7 7", "M3 0V6",
                                                               "M0 3H6"};
  std::string out =
      "<svg class=\"patterns\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>\n";
  for (std::size_t i = 0; i < kPaths.size(); ++i)
    out += fmt::format(
        "<pattern id=\"hatch{0}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<path class=\"ground{0}\" d=\"M0 0H6V6H0Z\"/><path class=\"hatch\" d=\"{1}\"/>"
        "</pattern>\n",
        i, kPaths[i]);
  return out + "</defs></svg>\n";
}

}  // namespace karmad
