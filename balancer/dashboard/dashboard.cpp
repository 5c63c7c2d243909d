#include "balancer/dashboard/dashboard.hpp"

#include <array>

#include "dashboard_hashes.hpp"

// The page, in the assembler file that embed.cmake makes: Chart.js lies between its two pieces, so
// that the plain page is one range of bytes.
extern "C" {
extern const char karmad_dashboard_plain;
extern const char karmad_dashboard_rest_end;
extern const char karmad_dashboard_packed;
extern const char karmad_dashboard_packed_end;
}

namespace karmad {
namespace {

/// The page may run its own scripts and ask its own origin, and nothing else.
constexpr std::array kDashboardFields{
    Field{"Content-Security-Policy",
          "default-src 'none'; connect-src 'self'; img-src data:; style-src " KARMAD_DASHBOARD_STYLE
          "; script-src " KARMAD_DASHBOARD_SCRIPTS
          "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    Field{"X-Content-Type-Options", "nosniff"},
    Field{"Referrer-Policy", "no-referrer"},
    Field{"Cache-Control", "no-cache"},
    Field{"Vary", "Accept-Encoding"},
    Field{"Content-Encoding", "gzip"},  // last
};
constexpr std::span<const Field> kAll(kDashboardFields);

}  // namespace

DashboardPage dashboard_page() {
  return {.plain = {&karmad_dashboard_plain, &karmad_dashboard_rest_end},
          .packed = {&karmad_dashboard_packed, &karmad_dashboard_packed_end},
          .fields = kAll.first(kAll.size() - 1),
          .packed_fields = kAll};
}

}  // namespace karmad
