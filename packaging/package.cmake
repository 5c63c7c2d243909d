# Installs karmad as Debian's package has it, and makes the package with CPack: scripts/package.sh.
# Files of /etc have absolute destinations; DESTDIR moves all of them.

# --- files that the program writes about itself -------------------------------------------------

set(generated ${CMAKE_BINARY_DIR}/generated)
set(karmad_files "")
# karmad_generated(NAME… ) : files that karmad writes with --generate, as dependencies of the target.
function(karmad_generated)
  foreach(name IN LISTS ARGN)
    add_custom_command(OUTPUT ${generated}/${name} DEPENDS karmad
      COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
      COMMAND karmad --generate ${name} > ${generated}/${name})
    list(APPEND karmad_files ${generated}/${name})
  endforeach()
  set(karmad_files ${karmad_files} PARENT_SCOPE)
endfunction()
# karmad_packed(NAME FROM) : the file as NAME.gz, always with the same bytes.
function(karmad_packed name from)
  add_custom_command(OUTPUT ${generated}/${name}.gz DEPENDS ${from}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
    COMMAND gzip -9nc ${from} > ${generated}/${name}.gz)
  list(APPEND karmad_files ${generated}/${name}.gz)
  set(karmad_files ${karmad_files} PARENT_SCOPE)
endfunction()
karmad_generated(karmad.8 karmad.conf.5 karmad.bash _karmad karmad.fish)
karmad_packed(karmad.8 ${generated}/karmad.8)
karmad_packed(karmad.conf.5 ${generated}/karmad.conf.5)
karmad_packed(changelog.Debian ${CMAKE_SOURCE_DIR}/packaging/debian/changelog)
karmad_packed(changelog ${CMAKE_SOURCE_DIR}/CHANGELOG.md)
add_custom_target(karmad_files DEPENDS ${karmad_files})

# --- where everything goes ------------------------------------------------------------------------

set(here ${CMAKE_SOURCE_DIR}/packaging)
set(doc share/doc/karmad)
install(TARGETS karmad RUNTIME DESTINATION bin)
install(FILES ${here}/karmad.conf DESTINATION /etc/karmad)
install(FILES ${here}/logrotate DESTINATION /etc/logrotate.d RENAME karmad)
install(FILES ${here}/systemd/karmad.service DESTINATION lib/systemd/system)
install(FILES ${here}/systemd/sysusers.conf DESTINATION lib/sysusers.d RENAME karmad.conf)
install(FILES ${generated}/karmad.8.gz DESTINATION share/man/man8)
install(FILES ${generated}/karmad.conf.5.gz DESTINATION share/man/man5)
install(FILES ${generated}/karmad.bash DESTINATION share/bash-completion/completions RENAME karmad)
install(FILES ${generated}/_karmad DESTINATION share/zsh/vendor-completions)
install(FILES ${generated}/karmad.fish DESTINATION share/fish/vendor_completions.d)
install(FILES ${here}/debian/copyright ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${doc})
install(FILES ${generated}/changelog.Debian.gz ${generated}/changelog.gz DESTINATION ${doc})
install(DIRECTORY docs/ DESTINATION ${doc}/docs
  PATTERN images EXCLUDE PATTERN decisions EXCLUDE)
install(FILES ${here}/systemd/karmad.socket ${here}/prometheus/alerts.yml ${here}/grafana/karmad.json
  DESTINATION ${doc}/examples)

# --- the package ----------------------------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME karmad)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "karmad developers <karmad@lists.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "balancer that sends searches to mirrors of search servers")
set(CPACK_PACKAGE_DESCRIPTION [[
karmad takes search queries over HTTP, sends each of them to one mirror
of every shard, and merges the answers.
.
It chooses mirrors by their latency and health, retries and hedges within
a budget, and limits the requests in progress. It reads the configuration
of a Manticore or Sphinx distributed table, and passes requests to any
other HTTP server through. It is made and tested on Debian 12 and 13.]])
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_CMAKE_GENERATOR Ninja)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd-standalone-sysusers | systemd")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "logrotate, prometheus")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${here}/debian/conffiles ${here}/debian/postinst
  ${here}/debian/prerm ${here}/debian/postrm)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
include(CPack)
