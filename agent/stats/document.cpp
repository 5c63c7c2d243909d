#include "agent/stats/document.hpp"

#include <cmath>

namespace karmad {
namespace {

double in(Unit unit, Micros time) {
  const auto micros = static_cast<double>(time.count());
  return unit == Unit::seconds ? micros / 1e6 : unit == Unit::milliseconds ? micros / 1e3 : micros;
}

}  // namespace

void Document::value(const StatValue& value, Unit unit) {
  separate();
  std::visit(
      [&]<class T>(T of) {
        if constexpr (std::is_same_v<T, bool>) {
          out_.add(of ? std::string_view("true") : std::string_view("false"));
        } else if constexpr (std::is_same_v<T, Micros>) {
          out_.add_number(in(unit, of));
        } else if constexpr (std::is_integral_v<T>) {
          out_.add_number(of);
        } else {
          if constexpr (std::is_same_v<T, double>)
            if (std::isfinite(of))
              return out_.add_number(unit == Unit::share ? std::round(of * 1e4) / 1e4 : of);
          out_.add("null");
        }
      },
      value.get());
}

}  // namespace karmad
