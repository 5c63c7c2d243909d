#!/bin/bash
# Builds karmad for what it mostly does: first one that counts which ways its code takes, which then
# answers some searches, and then the one that is optimized for these ways (profile-guided
# optimization). Takes about three times as long as the release build.
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
readonly preset=profiled programs=build/profiled
readonly patience=30 # seconds for a program to be ready

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

folder=$(mktemp -d)
running=()
stop_all() {
  local pid status=0
  for pid in "${running[@]}"; do kill "$pid" 2>/dev/null || true; done
  # Each writes down its counts as it ends.
  for pid in "${running[@]}"; do wait "$pid" || status=$?; done
  running=()
  return "$status"
}
trap 'stop_all || true; rm -rf "$folder"' EXIT

# await COMMAND… : until it succeeds.
await() {
  local until=$((SECONDS + patience))
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < until)) || fail "not ready within $patience s: $(cat "$folder"/*.log)"
    sleep 0.1
  done
}

# start_agent NAME SHARD : its address is `agent`, then.
start_agent() {
  "$1/karmad-demo-agent" --listen 127.0.0.1:0 --shard "$2" --documents 200 >"$folder/agent.log" 2>&1 &
  running+=($!)
  await grep -q 'listening on' "$folder/agent.log"
  agent=$(sed -n 's/^listening on //p' "$folder/agent.log")
}

# ask TIMES BODY PATH : that often, 64 at a time.
ask() {
  curl -sS --no-progress-meter --fail --unix-socket "$folder/karmad.sock" -o /dev/null --parallel --parallel-max 64 \
    -H 'Content-Type: application/json' ${2:+-d "$2"} "http://karmad/$3#[1-$1]"
}

# train PROGRAMS : searches as most are: passed through, merged, small and large; and a little of
# everything else, so that nothing of it is taken for what never happens.
train() {
  local agents=() shard log
  for shard in 0/2 0/2 1/2 1/2; do
    start_agent "$1" "$shard"
    agents+=("$agent")
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
    "$1/karmad" --config "$folder/karmad.conf" >"$folder/karmad.log" 2>&1 &
    running+=($!)
    await curl -sS --fail --unix-socket "$folder/karmad.sock" http://karmad/readyz
    ask 20000 '{"table":"one","query":{"match":{"title":"steel"}},"limit":1}' search
    ask 5000 '{"table":"one","query":{"match_all":{}},"limit":20}' search
    ask 2000 '{"table":"products","query":{"match_all":{}},"limit":20}' search
    ask 500 "query=SELECT id FROM one LIMIT 3" sql
    ask 100 '' status
    ask 100 '' agents
    kill "${running[-1]}"
    wait "${running[-1]}"
    unset 'running[-1]'
  done
  stop_all
}

if [[ -n $train_only ]]; then
  train "$train_only"
  echo "the programs in $train_only answered all searches"
  exit 0
fi

[[ $install == no ]] || install_packages "${build_packages[@]}" "${demo_packages[@]}"
# build PROFILE : both programs.
build() {
  cmake --preset "$preset" -DKARMAD_PROFILE="$1"
  cmake --build --preset "$preset" -j "$(nproc)" --target karmad karmad-demo-agent
}
find "$programs" -name '*.gcda' -delete 2>/dev/null || true
build generate
echo "Counting while it answers searches"
train "$programs"
build use
echo "Built: $programs/karmad"
