#!/bin/bash
# What do clients notice of mirrors that are dead? Three mirrors, of which some refuse connections or
# answer 500, in front of them karmad with its defaults, or HAProxy; the load comes in an open loop, at its
# rate whatever becomes of the answers: closed loops of a few clients cannot see what a queue does.
# Needs: jq, and loadgen and fakemirror in the folder BENCHKIT; haproxy for --haproxy.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: BENCHKIT=FOLDER bench/dead_mirrors.sh [OPTION…]
  --karmad PATH     the program (build/release/karmad)
  --haproxy         HAProxy beside it
  --workers N       (2)
  --seconds N       of each load (10)
  --port N          first of the five ports used (18500)"
karmad=build/release/karmad proxies=(karmad) workers=2 seconds=10 port=18500
while (($#)); do
  case $1 in
    --karmad) karmad=${2:?$usage}; shift ;;
    --haproxy) proxies+=(haproxy) ;;
    --workers) workers=${2:?$usage}; shift ;;
    --seconds) seconds=${2:?$usage}; shift ;;
    --port) port=${2:?$usage}; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
PATH=$PATH:/usr/sbin:/sbin
command -v jq > /dev/null || fail "jq is missing: apt-get install jq"
kit=${BENCHKIT:?$usage}
[[ -x $kit/loadgen && -x $kit/fakemirror ]] || fail "no loadgen and fakemirror in $kit"
[[ -x $karmad ]] || fail "no program $karmad: cmake --preset release && cmake --build --preset release"
readonly proxy=$port control=$((port + 1)) first=$((port + 2)) last=$((port + 4))

folder=$(mktemp -d)
running=()
stop_all() {
  local pid
  for pid in "${running[@]}"; do kill "$pid" 2> /dev/null || true; done
  for pid in "${running[@]}"; do wait "$pid" 2> /dev/null || true; done
  running=()
}
trap 'stop_all; rm -rf "$folder"' EXIT

await() {
  local try
  for ((try = 0; try < 100; ++try)); do
    if (: <> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; then return; fi
    sleep 0.05
  done
  fail "nobody answers at port $1: $(cat "$folder/log")"
}

cat > "$folder/karmad.conf" << END
searchd {
    listen = 127.0.0.1:$proxy
    workers = $workers
    log_level = warning
}
table products {
    type = distributed
    agent = 127.0.0.1:$first|127.0.0.1:$((first + 1))|127.0.0.1:$last:products
}
END
cat > "$folder/haproxy.conf" << END
global
    nbthread $workers
    maxconn 8000
defaults
    mode http
    timeout connect 1s
    timeout client 60s
    timeout server 30s
    retries 3
    option redispatch 1
    retry-on conn-failure empty-response 500
    http-reuse always
frontend in
    bind 127.0.0.1:$proxy
    option http-buffer-request
    default_backend mirrors
backend mirrors
    balance random
    default-server check inter 1s
    server m1 127.0.0.1:$first
    server m2 127.0.0.1:$((first + 1))
    server m3 127.0.0.1:$last
END

# A line of results: which proxy, what is wrong with the mirrors, the load (arguments of loadgen).
measure() {
  local name=$1 what=$2 profile=$3 command line
  shift 3
  case $name in
    karmad) command=("$karmad" --config "$folder/karmad.conf") ;;
    haproxy) command=(haproxy -db -f "$folder/haproxy.conf") ;;
  esac
  local options=()
  for line in $profile; do options+=(--mirror "${line%%:*}" "${line#*:}"); done
  "$kit/fakemirror" --ports "$first-$last" --control "$control" \
    --profile "size=600 hits=1 svc=fixed:2" "${options[@]}" > "$folder/log" 2>&1 &
  running+=($!)
  await "$control"
  "${command[@]}" > "$folder/log" 2>&1 &
  running+=($!)
  await "$proxy"
  "$kit/loadgen" --port "$proxy" -d "$seconds" --warmup 0 --timeout 30000 \
    --body '{"table":"products","query":{"match_all":{}}}' "$@" > "$folder/result" 2> "$folder/log" ||
    fail "$(cat "$folder/log")"
  stop_all
  jq -r --arg name "$name" --arg what "$what" --arg load "$*" '
    [$name, $what, $load, (.all_us.p50 / 1000), (.all_us.p90 / 1000), (.all_us.p99 / 1000),
     (.status | to_entries | map("\(.key): \(.value)") | join(", "))] | @tsv' "$folder/result" |
    awk -F'\t' '{ printf "%-8s %-24s %-16s %9.2f %9.2f %9.2f   %s\n", $1, $2, $3, $4, $5, $6, $7 }'
}

printf '%s cores, %s, %s workers, %s s each\n' "$(nproc)" "$(date +%F)" "$workers" "$seconds"
printf '%-8s %-24s %-16s %9s %9s %9s   %s\n' proxy mirrors load 'p50 ms' p90 p99 answers
for name in "${proxies[@]}"; do
  measure "$name" "all work" "" -c 2000 -r 800
  measure "$name" "one refuses" "m1:mode=refuse" -c 2000 -r 800
  measure "$name" "one refuses" "m1:mode=refuse" -c 100
  measure "$name" "one refuses" "m1:mode=refuse" -c 2000 -r 3000
  measure "$name" "two refuse" "m1:mode=refuse m2:mode=refuse" -c 2000 -r 800
  measure "$name" "two say 500" "m1:err=1 m2:err=1" -c 2000 -r 800
  measure "$name" "all refuse" "m1:mode=refuse m2:mode=refuse m3:mode=refuse" -c 2000 -r 500
done
