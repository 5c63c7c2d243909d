#!/bin/bash
# Sourced by the scripts of this folder: starts the programs that a measurement needs, waits until they
# answer, and stops them at the end. Leaves the shell in the root of the source tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PATH=$PATH:/usr/sbin:/sbin
folder=$(mktemp -d)
running=()

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# need COMMAND… : fails if one is not installed. Their packages have the same names, except that of taskset.
need() {
  local program
  for program in "$@"; do
    command -v "$program" > /dev/null || fail "$program is missing: apt-get install ${*/taskset/util-linux}"
  done
}

need_karmad() {
  [[ -x $1 ]] || fail "no program $1: cmake --preset release && cmake --build --preset release"
}

# start COMMAND… : starts it in the background; $! is its pid, its output goes to the log.
start() {
  "$@" > "$folder/log" 2>&1 &
  running+=($!)
}

stop_all() {
  local pid
  for pid in "${running[@]}"; do kill "$pid" 2> /dev/null || true; done
  for pid in "${running[@]}"; do wait "$pid" 2> /dev/null || true; done
  running=()
}
trap 'stop_all; rm -rf "$folder"' EXIT

# await PORT : waits until a program listens there.
await() {
  local try
  for ((try = 0; try < 100; ++try)); do
    if (: <> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; then return; fi
    sleep 0.05
  done
  fail "no answer at port $1: $(cat "$folder/log")"
}

# Prints processor, number of cores and date.
machine() {
  printf '%s, %s cores, %s' "$(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)" \
    "$(nproc)" "$(date +%F)"
}
