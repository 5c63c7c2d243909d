# shellcheck shell=bash
# For `source`: runs the stages of a gate one after the other, and prints at the end what each took: wall
# time, and the time of CPU that two cores need at least, which does not depend on what else a machine does.

summary=()
current='nothing'
ticks=$(getconf CLK_TCK)

# cpu_used : sets `used` to the seconds of CPU of all children that have ended, divided by two cores.
cpu_used() {
  local fields
  read -ra fields <"/proc/$$/stat"
  used=$(((fields[15] + fields[16]) / ticks / 2))
}

# stage COMMAND… : prints the name, runs the command, and prints what it took.
stage() {
  current=$*
  printf '\n=== %s\n' "$current"
  local from=$SECONDS line before
  cpu_used
  before=$used
  "$@" </dev/null
  cpu_used
  line=$(printf '%5d s, %5d s on two idle cores  %s' $((SECONDS - from)) $((used - before)) "$current")
  summary+=("$line")
  printf '=== done: %s\n' "$line"
  current='nothing'
}

# at_once COMMAND COMMAND : two that leave a core idle each, words parted by blanks. The output of the second
# comes behind that of the first; fails if one has failed.
at_once() {
  local log status=0
  log=$(mktemp)
  $2 >"$log" 2>&1 </dev/null &
  $1 || status=$?
  wait $! || status=$?
  printf '\n--- %s\n' "$2"
  cat "$log"
  rm "$log"
  return "$status"
}

finish() {
  local status=$?
  printf '\n'
  ((${#summary[@]} == 0)) || printf '%s\n' "${summary[@]}"
  cpu_used
  if ((status == 0)) && [[ $current == nothing ]]; then
    echo "passed in $SECONDS s ($used s on two idle cores)"
  else
    echo "FAILED after $SECONDS s, in: $current"
  fi
}
trap finish EXIT
