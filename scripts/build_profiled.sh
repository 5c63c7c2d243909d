#!/bin/bash
# Builds karmad with profile-guided optimization: a first program counts the branches of its code
# while it answers searches; the second one is optimized with these counts. Takes about three times
# as long as the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh

usage="usage: scripts/build_profiled.sh [OPTION…]
  --no-install      do not install missing packages
  --train-only DIR  build nothing, only let the programs in DIR answer the searches"
install=yes train_only=
while (($#)); do
  case $1 in
    --no-install) install=no ;;
    --train-only) train_only=${2:?$usage}; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
readonly built=build/profiled
readonly patience=30 # seconds for a program to be ready, and to end

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

folder=$(mktemp -d)
declare -A pid_of=() # of each program that was started and has not ended
counting=no          # whether the programs in $built are those that count
clean_up() {
  trap - EXIT
  local pid
  for pid in "${pid_of[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
  [[ $counting == no ]] || rm -f "$built/karmad" "$built/karmad-demo-agent"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# await COMMAND… : repeats the command until it succeeds.
await() {
  local until=$((SECONDS + patience))
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= until)); then return 1; fi
    sleep 0.1
  done
}

# start NAME PROGRAM ARGUMENT… : starts the program with its own log. If this script is killed with
# SIGKILL, the kernel stops the program.
start() {
  local name=$1 together=()
  shift
  command -v setpriv >/dev/null && together=(setpriv --pdeathsig TERM --)
  "${together[@]}" "$@" >"$folder/$name.log" 2>&1 </dev/null &
  pid_of[$name]=$!
}

has_ended() { ! kill -0 "$1" 2>/dev/null; }

# stop NAME : ends the program gracefully, because it writes its counts at its end.
stop() {
  local pid=${pid_of[$1]}
  kill "$pid" 2>/dev/null || true
  await has_ended "$pid" || fail "$1 does not end: $(cat "$folder/$1.log")"
  unset "pid_of[$1]"
  wait "$pid" || fail "$1 ended with status $?: $(cat "$folder/$1.log")"
}

# ask TIMES BODY PATH : sends the request TIMES times, 64 at a time.
ask() {
  curl -sS --no-progress-meter --fail --unix-socket "$folder/karmad.sock" -o /dev/null --parallel \
    --parallel-max 64 -H 'Content-Type: application/json' ${2:+-d "$2"} "http://karmad/$3#[1-$1]" ||
    fail "not all of $1 requests to /$3 were answered"
}

# train PROGRAMS : sends typical searches: passed through, merged, small and large; and a few other
# requests, so that the compiler does not consider their code unused.
train() {
  local agents=() number name address log
  [[ -x $1/karmad && -x $1/karmad-demo-agent ]] || fail "no karmad and karmad-demo-agent in $1"
  for number in 0 1 2 3; do
    name=agent$number
    start "$name" "$1/karmad-demo-agent" --listen 127.0.0.1:0 --shard "$((number / 2))/2" \
      --documents 200
    await grep -q '^listening on .' "$folder/$name.log" ||
      fail "$name is not ready: $(cat "$folder/$name.log")"
    address=$(sed -n 's/^listening on //p' "$folder/$name.log")
    agents+=("$address")
  done
  for log in '' "access_log = $folder/access.log"; do
    cat >"$folder/karmad.conf" <<END
searchd {
    listen = $folder/karmad.sock
    workers = 1
    log_level = warning
    $log
}
table one {
    type = distributed
    ha_strategy = nodeads
    agent = ${agents[0]}|${agents[1]}:products
}
table products {
    type = distributed
    ha_strategy = leastops
    agent = ${agents[0]}|${agents[1]}:products
    agent = ${agents[2]}|${agents[3]}:products
}
END
    start karmad "$1/karmad" --config "$folder/karmad.conf"
    await curl -sS --fail --unix-socket "$folder/karmad.sock" http://karmad/readyz ||
      fail "karmad is not ready: $(cat "$folder/karmad.log")"
    ask 20000 '{"table":"one","query":{"match":{"title":"steel"}},"limit":1}' search
    ask 5000 '{"table":"one","query":{"match_all":{}},"limit":20}' search
    ask 2000 '{"table":"products","query":{"match_all":{}},"limit":20}' search
    ask 500 "query=SELECT id FROM one LIMIT 3" sql
    ask 100 '' status
    ask 100 '' agents
    stop karmad
  done
  for name in "${!pid_of[@]}"; do stop "$name"; done
}

if [[ -n $train_only ]]; then
  train "$train_only"
  echo "the programs in $train_only answered all searches"
  exit 0
fi

[[ $install == no ]] || install_packages "${build_packages[@]}" "${demo_packages[@]}"
# build PROFILE : builds both programs.
build() {
  cmake --preset release -B "$built" -DKARMAD_TESTS=OFF -DKARMAD_PROFILE="$1"
  cmake --build "$built" -j "$(nproc)" --target karmad karmad-demo-agent
}
find "$built" -name '*.gcda' -delete 2>/dev/null || true
counting=yes # the programs that count must not stay there
build generate
echo "Counting while it answers searches"
train "$built"
build use
counting=no
echo "Built: $built/karmad"
