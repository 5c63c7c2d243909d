#!/bin/bash
# Measures the answers that clients get while mirrors are dead, overloaded or slow. Three mirrors with karmad,
# or HAProxy, in front of them. The load is an open loop: requests are sent at a fixed rate, also while earlier
# ones wait. Clients that wait for each answer would not show the effect of a queue.
#   dead      some mirrors refuse connections or answer 500; karmad has its default settings
#   overload  the mirrors together serve 1200 requests/s, the load is 0.5 to 10 times that; 18 tickets,
#             for HAProxy maxconn 6 for each server
#   tail      service times are exponential; hedging is off, or at p95
# Needs jq; haproxy for --haproxy; and in the folder BENCHKIT two programs: `fakemirror`, which simulates mirrors
# with given service times and failures, and `loadgen`, which sends requests at a given rate and prints the
# latencies as JSON. measure() below has all options that they must know.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/programs.sh"

usage="usage: BENCHKIT=FOLDER bench/trouble.sh [OPTION…]
  FOLDER has the programs fakemirror (simulated mirrors) and loadgen (a load generator)
  --what WHAT       dead, overload or tail (dead)
  --karmad PATH     the program (build/release/karmad)
  --haproxy         also measure HAProxy
  --workers N       worker threads (2)
  --seconds N       duration of each load (10)
  --port N          first of the five ports used (18500)"
karmad=build/release/karmad what=dead proxies=(karmad) workers=2 seconds=10 port=18500
while (($#)); do
  case $1 in
    --what) what=${2:?$usage}; shift ;;
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
need jq
kit=${BENCHKIT:?$usage}
[[ -x $kit/loadgen && -x $kit/fakemirror ]] || fail "no loadgen and fakemirror in $kit"
need_karmad "$karmad"
readonly proxy=$port control=$((port + 1)) first=$((port + 2)) last=$((port + 4))

# Writes both configurations; $1: further lines of searchd for karmad, $2: options of HAProxy's servers.
write_configs() {
cat > "$folder/karmad.conf" << END
searchd {
    $1
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
    default-server check inter 1s $2
    server m1 127.0.0.1:$first
    server m2 127.0.0.1:$((first + 1))
    server m3 127.0.0.1:$last
END
}

# measure PROXY TITLE PROFILE LOAD… : prints a line of results. PROFILE: the failures of the mirrors; LOAD:
# arguments of loadgen.
measure() {
  local name=$1 title=$2 profile=$3 command line
  shift 3
  case $name in
    karmad) command=("$karmad" --config "$folder/karmad.conf") ;;
    haproxy) command=(haproxy -db -f "$folder/haproxy.conf") ;;
  esac
  local options=()
  for line in $profile; do options+=(--mirror "${line%%:*}" "${line#*:}"); done
  start "$kit/fakemirror" --ports "$first-$last" --control "$control" \
    --profile "size=600 hits=1 $service" "${options[@]}"
  await "$control"
  start "${command[@]}"
  await "$proxy"
  "$kit/loadgen" --port "$proxy" -d "$seconds" --warmup 0 --timeout 30000 --slo 250 \
    --body '{"table":"products","query":{"match_all":{}}}' "$@" > "$folder/result" 2> "$folder/log" ||
    fail "$(cat "$folder/log")"
  stop_all
  jq -r --arg name "$name" --arg what "$title" --arg load "$*" '
    [$name, $what, $load, (.all_us.p50 / 1000), (.all_us.p90 / 1000), (.all_us.p99 / 1000), .goodput,
     (.status | to_entries | map("\(.key): \(.value)") | join(", "))] | @tsv' "$folder/result" |
    awk -F'\t' '{ printf "%-8s %-24s %-16s %9.2f %9.2f %9.2f %9.0f   %s\n", $1, $2, $3, $4, $5, $6, $7, $8 }'
}

printf '%s; %s workers, %s s each; good: answers 200 within 250 ms per second\n' "$(machine)" \
  "$workers" "$seconds"
printf '%-8s %-24s %-16s %9s %9s %9s %9s   %s\n' proxy mirrors load 'p50 ms' p90 p99 good answers
service='svc=fixed:2'
case $what in
  dead)
    write_configs "" ""
    for name in "${proxies[@]}"; do
      measure "$name" "all work" "" -c 2000 -r 10
      measure "$name" "all work" "" -c 2000 -r 800
      measure "$name" "one refuses" "m1:mode=refuse" -c 2000 -r 10
      measure "$name" "one refuses" "m1:mode=refuse" -c 2000 -r 800
      measure "$name" "one refuses" "m1:mode=refuse" -c 100
      measure "$name" "one refuses" "m1:mode=refuse" -c 2000 -r 3000
      measure "$name" "two refuse" "m1:mode=refuse m2:mode=refuse" -c 2000 -r 800
      measure "$name" "two say 500" "m1:err=1 m2:err=1" -c 2000 -r 800
      measure "$name" "all refuse" "m1:mode=refuse m2:mode=refuse m3:mode=refuse" -c 2000 -r 500
    done
    ;;
  overload)
    service='svc=fixed:10 k=4'
    write_configs "search_tickets = 18" "maxconn 6"
    for name in "${proxies[@]}"; do
      for load in 600 1080 1200 2400 6000 12000; do
        measure "$name" "serve 1200/s" "" -c 4000 -r "$load"
      done
    done
    ;;
  tail)
    service='svc=exp:5 k=8'
    write_configs "hedge = off" ""
    for name in "${proxies[@]}"; do measure "$name" "exponential, 5 ms" "" -c 2000 -r 800; done
    write_configs "hedge = p95" ""
    measure karmad "the same, hedge = p95" "" -c 2000 -r 800
    ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
