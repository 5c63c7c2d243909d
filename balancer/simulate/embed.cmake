# Makes a header from the style sheet of the report of a simulation, with its hash for the page's
# Content-Security-Policy. Run at configuration; configuration runs again if the style changes.
function(karmad_embed_report_style target)
  set(style ${CMAKE_SOURCE_DIR}/balancer/simulate/html_report.css)
  set(to ${CMAKE_BINARY_DIR}/report)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${style})
  file(READ ${style} text)
  karmad_content_hash(${style} hash)
  file(CONFIGURE OUTPUT ${to}/html_report_style.hpp @ONLY CONTENT
"#pragma once

#include <string_view>

namespace karmad {

inline constexpr std::string_view kHtmlReportStyle = R\"css(@text@)css\";
inline constexpr std::string_view kHtmlReportStyleHash = \"'sha256-@hash@'\";

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
