# Puts files into the program. After TARGET and NAME come pairs SYMBOL PATH: the bytes of the file
# lie between SYMBOL and SYMBOL_end.
function(karmad_embed target name)
  set(code "        .section .rodata\n")
  set(paths "")
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs symbol path)
    list(APPEND paths ${path})
    string(APPEND code "        .globl ${symbol}, ${symbol}_end\n"
      "${symbol}:\n        .incbin \"${path}\"\n${symbol}_end:\n")
  endwhile()
  string(APPEND code "        .section .note.GNU-stack,\"\",@progbits\n")
  set(source ${CMAKE_BINARY_DIR}/embedded/${name}.s)
  file(GENERATE OUTPUT ${source} CONTENT "${code}")
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES LANGUAGE ASM OBJECT_DEPENDS "${paths}")
endfunction()
