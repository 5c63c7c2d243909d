# Makes a header from the style sheet and the script of the report of a simulation, with the hashes for
# the page's Content-Security-Policy. Run at configuration; configuration runs again if a part changes.
function(karmad_embed_report target)
  set(from ${CMAKE_SOURCE_DIR}/balancer/simulate/engine)
  set(to ${CMAKE_BINARY_DIR}/report)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${from}/html_report.css ${from}/html_report.js)
  file(READ ${from}/html_report.css style)
  file(READ ${from}/html_report.js script)
  karmad_content_hash(${from}/html_report.css style_hash)
  karmad_content_hash(${from}/html_report.js script_hash)
  karmad_content_hash(${KARMAD_CHART_JS} chart_hash)
  file(CONFIGURE OUTPUT ${to}/html_report_parts.hpp @ONLY CONTENT
"#pragma once

#include <string_view>

namespace karmad {

inline constexpr std::string_view kHtmlReportStyle = R\"css(@style@)css\";
inline constexpr std::string_view kHtmlReportStyleHash = \"'sha256-@style_hash@'\";
inline constexpr std::string_view kHtmlReportScript = R\"js(@script@)js\";
inline constexpr std::string_view kHtmlReportScriptHashes =
    \"'sha256-@chart_hash@' 'sha256-@script_hash@'\";

}  // namespace karmad
")
  target_include_directories(${target} PRIVATE ${to})
endfunction()

# Joins the scenarios of the library, each after a line with its name, and puts them into the program.
function(karmad_embed_scenarios target)
  file(GLOB paths CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/balancer/simulate/scenarios/*.scn)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${paths})
  set(all "")
  foreach(path IN LISTS paths)
    get_filename_component(name ${path} NAME_WE)
    file(READ ${path} text)
    string(APPEND all "scenario ${name}\n${text}")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/embedded/scenarios.txt @ONLY CONTENT "${all}")
  karmad_embed(${target} scenarios karmad_scenarios ${CMAKE_BINARY_DIR}/embedded/scenarios.txt)
endfunction()
