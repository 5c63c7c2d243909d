# bash completion for karmad, generated from the command line of the program
_karmad_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
}
_karmad() {
  local command='' word words=''
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command $word" in
@commands@    esac
  done
  COMPREPLY=()
  case "$command ${COMP_WORDS[COMP_CWORD-1]}" in
@values@  esac
  case $command in
@words@  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -F _karmad karmad
