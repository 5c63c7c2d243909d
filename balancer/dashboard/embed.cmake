# Sets `result` to the SHA-256 of a file in base64, as Content-Security-Policy has it.
function(karmad_content_hash path result)
  file(SHA256 ${path} hex)
  execute_process(COMMAND bash -c "printf '%b' \"$(sed 's/../\\\\x&/g' <<<${hex})\" | base64 -w0"
    OUTPUT_VARIABLE hash COMMAND_ERROR_IS_FATAL ANY)
  set(${result} ${hash} PARENT_SCOPE)
endfunction()

# Makes the page of the dashboard from its parts, and puts it into the program, plain and
# compressed. Chart.js, which other pages use too, lies between karmad_chart_js and its end, within the
# plain page. Run at configuration; configuration runs again if a part changes.
function(karmad_embed_dashboard target)
  set(from ${CMAKE_SOURCE_DIR}/balancer/dashboard)
  set(to ${CMAKE_BINARY_DIR}/dashboard)
  find_file(KARMAD_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH
    DOC "Chart.js 3 in one file (Debian's package libjs-chart.js)")
  if(NOT KARMAD_CHART_JS)
    message(FATAL_ERROR "there is no Chart.js: install libjs-chart.js, or set KARMAD_CHART_JS")
  endif()
  set(names STYLE SCRIPT CHART)  # Chart.js last: the page is cut around it
  set(parts ${from}/dashboard.css ${from}/dashboard.js ${KARMAD_CHART_JS})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${from}/dashboard.html ${parts})

  file(READ ${from}/dashboard.html page)
  foreach(name path IN ZIP_LISTS names parts)
    file(READ ${path} text)
    if(name STREQUAL CHART)
      string(FIND "${page}" "@CHART@" at)
      string(SUBSTRING "${page}" 0 ${at} before_chart)
      string(LENGTH "${before_chart}@CHART@" at)
      string(SUBSTRING "${page}" ${at} -1 after_chart)
    endif()
    string(REPLACE "@${name}@" "${text}" page "${page}")
    karmad_content_hash(${path} hash_${name})
  endforeach()
  file(CONFIGURE OUTPUT ${to}/dashboard_hashes.hpp @ONLY CONTENT
"#pragma once
#define KARMAD_DASHBOARD_STYLE \"'sha256-@hash_STYLE@'\"
#define KARMAD_DASHBOARD_SCRIPTS \"'sha256-@hash_CHART@' 'sha256-@hash_SCRIPT@'\"
")
  foreach(piece before_chart after_chart)
    file(CONFIGURE OUTPUT ${to}/${piece}.html CONTENT "@${piece}@" @ONLY)
  endforeach()
  set(page_before "")
  if(EXISTS ${to}/dashboard.html)
    file(READ ${to}/dashboard.html page_before)
  endif()
  if(NOT page_before STREQUAL page OR NOT EXISTS ${to}/dashboard.html.gz)
    file(WRITE ${to}/dashboard.html "${page}")
    execute_process(COMMAND gzip -9nkf ${to}/dashboard.html COMMAND_ERROR_IS_FATAL ANY)
  endif()
  karmad_embed(${target} dashboard
    karmad_dashboard_plain ${to}/before_chart.html karmad_chart_js ${KARMAD_CHART_JS}
    karmad_dashboard_rest ${to}/after_chart.html karmad_dashboard_packed ${to}/dashboard.html.gz)
  target_include_directories(${target} PRIVATE ${to})
endfunction()
