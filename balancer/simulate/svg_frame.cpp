#include "balancer/simulate/svg_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "balancer/simulate/html_text.hpp"

namespace karmad {
namespace {

constexpr double kTicksWanted = 5;       // at most twice as many fit
constexpr double kTextDepth = 4;         // from the middle of a text to its base line
constexpr double kNumberWidth = 11;      // of the number of a mark
constexpr double kCharacter = 6.5;       // widest mean width of a character
constexpr double kShortestMarkText = 4;  // characters
constexpr double kLeaderFrom = 2;        // a label moved by more has a line to its place

/// The largest of 1, 2 and 5 times a power of ten that is at most `value`.
double round_step_below(double value) {
  const auto power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  const auto times = value / power + 1e-9;
  return power * (times >= 5 ? 5 : times >= 2 ? 2 : 1);
}

/// The next one above a round step.
double next_round_step(double step) {
  return round_step_below(step * 2.6);  // 1, 2, 5, 10: the factor is 2 or 2.5
}

std::vector<double> linear_ticks(double most) {
  auto step = round_step_below(most / kTicksWanted);
  if (step * kTicksWanted < most) step = next_round_step(step);
  std::vector<double> ticks;
  for (int i = 0; step * (i - 1) < most - step * 1e-6; ++i) ticks.push_back(step * i);
  return ticks;
}

/// 0: the lower one, next to the plot. The first mark is in the upper one, which has more room.
std::size_t mark_row(std::size_t place) {
  return (place + 1) % kMarkRows;
}

/// The text of a mark, as much of it as has room. The lines of the marks in the upper row cross the
/// lower one.
std::string mark_text(const ChartFrame& frame, std::size_t place) {
  const auto next = mark_row(place) == 0 ? place + 1 : place + kMarkRows;
  const auto end = next < frame.marks.size() ? frame.x(frame.marks[next].at) : kChartWidth;
  const auto room = (end - frame.x(frame.marks[place].at) - kNumberWidth) / kCharacter;
  if (room < kShortestMarkText) return {};
  return " " + html_escaped(shortened(frame.marks[place].text, static_cast<std::size_t>(room)));
}

std::string axis_seconds(double seconds) {
  return round_number(seconds) + " s";
}

}  // namespace

double ChartFrame::x(double second) const {
  return left() + (right() - left()) * (seconds > 0 ? second / seconds : 0);
}

ChartScale ChartScale::linear(double most) {
  ChartScale scale;
  scale.ticks_ = linear_ticks(most > 0 ? most : 1);
  scale.high_ = scale.ticks_.back();
  return scale;
}

ChartScale ChartScale::shares() {
  ChartScale scale;
  scale.ticks_ = {0, 0.5, 1};
  return scale;
}

ChartScale ChartScale::logarithmic(double least, double most) {
  ChartScale scale;
  scale.logarithmic_ = true;
  scale.low_ = round_step_below(least);
  auto tick = scale.low_;
  while (tick < most) tick = next_round_step(tick);
  scale.high_ = tick > scale.low_ ? tick : next_round_step(tick);
  const bool only_powers = scale.high_ / scale.low_ > 150;  // else 1, 2 and 5 of each have room
  for (tick = scale.low_; tick < scale.high_ * 1.001; tick = next_round_step(tick)) {
    const auto power = std::log10(tick);
    if (!only_powers || std::abs(power - std::round(power)) < 1e-6) scale.ticks_.push_back(tick);
  }
  return scale;
}

double ChartScale::place(double value) const {
  const auto part = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                                 : (value - low_) / (high_ - low_);
  return std::clamp(part, 0.0, 1.0);
}

std::vector<double> spread_places(std::vector<double> wanted, double gap, double low, double high) {
  if (wanted.empty()) return wanted;
  if (wanted.size() > 1) gap = std::min(gap, (high - low) / static_cast<double>(wanted.size() - 1));
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted[i]; });
  auto least = low;
  for (const auto i : order) {
    wanted[i] = std::max(wanted[i], least);
    least = wanted[i] + gap;
  }
  auto most = high;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    wanted[*i] = std::min(wanted[*i], most);
    most = wanted[*i] - gap;
  }
  return wanted;
}

std::string coordinate(double value) {
  auto text = fmt::format("{:.1f}", value + 0.0);  // no negative zero
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string begin_chart(const ChartFrame& frame) {
  auto out =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\"><title>{}</title><desc>{}</desc>\n",
                  coordinate(kChartWidth), coordinate(frame.height), html_escaped(frame.title),
                  html_escaped(frame.description));
  if (frame.seconds <= 0) return out;
  const auto ticks = linear_ticks(frame.seconds);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    if (ticks[i] > frame.seconds * 1.001) break;
    out += fmt::format("<text class=\"tick middle\" x=\"{}\" y=\"{}\">{}</text>\n",
                       coordinate(frame.x(ticks[i])), coordinate(frame.bottom() + kTextLine),
                       i == 0 ? "0" : axis_seconds(ticks[i]));
  }
  return out;
}

std::string value_axis(const ChartFrame& frame, const ChartScale& scale,
                       std::string (*text_of)(double)) {
  std::string out;
  for (const auto tick : scale.ticks()) {
    const auto y = frame.bottom() - scale.place(tick) * (frame.bottom() - frame.top());
    out += fmt::format("<path class=\"grid\" d=\"M{} {}H{}\"/>", coordinate(frame.left()),
                       coordinate(y), coordinate(frame.right()));
    out += fmt::format("<text class=\"tick end\" x=\"{}\" y=\"{}\">{}</text>\n",
                       coordinate(frame.left() - 4), coordinate(y + kTextDepth),
                       html_escaped(text_of(tick)));
  }
  return out;
}

std::string chart_marks(const ChartFrame& frame) {
  std::array<double, kMarkRows> free_from{};
  std::string out;
  for (std::size_t i = 0; i < frame.marks.size(); ++i) {
    const auto& mark = frame.marks[i];
    if (mark.at < 0 || mark.at > frame.seconds) continue;
    const auto row = frame.marks_have_text ? mark_row(i) : 0;
    const auto x = frame.x(mark.at);
    const auto y = frame.top() - 4 - kTextLine * static_cast<double>(row);
    out += fmt::format("<g class=\"mark\"><title>{}</title><path d=\"M{} {}V{}\"/>",
                       html_escaped(fmt::format("{}: {}", axis_seconds(mark.at), mark.text)),
                       coordinate(x), coordinate(row == 0 ? frame.top() : y + 2),
                       coordinate(frame.bottom()));
    if (x >= free_from[row]) {
      free_from[row] = x + kNumberWidth;
      out += fmt::format("<text x=\"{}\" y=\"{}\"><tspan>{}</tspan>{}</text>", coordinate(x - 3),
                         coordinate(y), mark.number,
                         frame.marks_have_text ? mark_text(frame, i) : std::string());
    }
    out += "</g>\n";
  }
  return out;
}

std::string chart_label(const ChartFrame& frame, std::string_view name, double from, double y,
                        std::string_view classes) {
  std::string out;
  const auto x = frame.right() + 8;
  if (std::abs(from - y) > kLeaderFrom)
    out = fmt::format("<path class=\"leader\" d=\"M{} {}L{} {}\"/>", coordinate(frame.right() + 1),
                      coordinate(from), coordinate(x - 2), coordinate(y));
  return out + fmt::format("<text class=\"label {}\" x=\"{}\" y=\"{}\">{}</text>\n", classes,
                           coordinate(x), coordinate(y + kTextDepth),
                           html_escaped(shortened(name, kLongestLabel)));
}

std::string end_chart() {
  return "</svg>\n";
}

}  // namespace karmad
