# Writes OUT, a source file with the commit of the sources in SOURCE, for `karmad --version`. The file
# changes only if the commit does. GIVEN replaces what git says, for sources without a repository.
cmake_minimum_required(VERSION 3.25)
set(commit "${GIVEN}")
if(NOT commit AND EXISTS ${SOURCE}/.git)
  find_program(git git)
  if(git)
    execute_process(COMMAND ${git} --no-optional-locks -C ${SOURCE} describe --always --abbrev=12
        --exclude=* --dirty
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT commit MATCHES "^[0-9A-Za-z.+~-]*$")
  message(FATAL_ERROR "KARMAD_COMMIT is ${commit}; letters, digits, dots, + and - are allowed")
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
namespace karmad {
extern const char kCommit[];
const char kCommit[] = "@commit@";
}  // namespace karmad
]])
