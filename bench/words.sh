#!/bin/bash
# What karmad says of a mirror in trouble, and how soon: simulated, with default settings. Three mirrors; the second
# is in trouble for two minutes. Prints a table in Markdown: for each kind of trouble, rate and strategy the seconds
# until log, events, /agents, /metrics and the page name a trouble, and the seconds until they take it back. `-`: not
# told, because no search came near the mirror or because the trouble cannot be told from chance. A third number is
# printed if there were more than two changes. Then the false words of healthy mirrors. Needs jq; takes about a minute.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/programs.sh"

usage="usage: bench/words.sh [OPTION…]
  --karmad PATH     the program (build/release/karmad)
  --healthy S       simulated seconds of healthy mirrors (600)
  --seed N          (1)"
karmad=build/release/karmad healthy=600 seed=1
while (($#)); do
  case $1 in
    --karmad) karmad=${2:?$usage}; shift ;;
    --healthy) healthy=${2:?$usage}; shift ;;
    --seed) seed=${2:?$usage}; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
need jq
need_karmad "$karmad"
strategies=random,roundrobin,nodeads,noerrors,leastops,adaptive
rates=(1 10 60 800)

# scenario NAME RATE DURATION PROFILE [CHANGE BACK]
scenario() {
  printf 'mirrors 3\nrate %s\nduration %s\nwarmup 60\ntimeout 60000\nprofile %s\n' "$2" "$3" "$4"
  if (($# > 4)); then printf 'at 10 m2 %s\nat 130 m2 %s\n' "$5" "$6"; fi
}
# simulate FILE… : the results as JSON.
simulate() {
  local files
  files=$(IFS=,; echo "$*")
  "$karmad" simulate --scenario "$files" --strategy $strategies --seed "$seed" --json
}

names=("killed" "frozen" "answers pings only" "500" "503" "429" "resets" "500, 30 %" "resets, half" "three times slower"
  "60 ms, not 0.3" "pauses 0.5 s of 1 s")
profiles=(svc=exp:5 svc=exp:5 svc=exp:5 svc=exp:5 svc=exp:5 svc=exp:5 svc=exp:5 svc=exp:5 svc=exp:5 svc=exp:5
  svc=fixed:0.3 svc=exp:5)
changes=(mode=refuse mode=freeze svc=fixed:3600000 err=1 "err=1 errcode=503" "err=1 errcode=429" rst=1 err=0.3 rst=0.5
  slow=3 svc=fixed:60 stall=1000:500)
backs=(mode=ok mode=ok svc=exp:5 err=0 err=0 err=0 rst=0 err=0 rst=0 slow=1 svc=fixed:0.3 stall=off)

files=()
for i in "${!names[@]}"; do
  for rate in "${rates[@]}"; do
    file=$folder/$i-$rate.scn
    scenario "$file" "$rate" 200 "${profiles[i]}" "${changes[i]}" "${backs[i]}" > "$file"
    files+=("$file")
  done
done
echo "| trouble | rate | ${strategies//,/ | } |"
echo "|---|---|---|---|---|---|---|---|"
simulate "${files[@]}" | jq -r --argjson names "$(printf '%s\n' "${names[@]}" | jq -R . | jq -s .)" '
  def seconds: . * 10 | round / 10;
  def cell:
    [.news[] | select(.mirror == 2)] as $news
    | ([$news[] | select(.at_ms >= 10000 and .state != "ready" and .state != "starting")] | first) as $told
    | ([$news[] | select(.at_ms >= 130000 and (.state == "ready" or .state == "starting"))] | first) as $back
    | if $told == null then "-" else
        "\($told.state) \(($told.at_ms - 10000) / 1000 | seconds) / " +
        (if $back == null then "-" else "\(($back.at_ms - 130000) / 1000 | seconds)" end) +
        ([$news[] | select(.state != "starting")] | length | if . > 2 then " (\(.))" else "" end)
      end;
  .scenarios | to_entries[] | .key as $k | .value
  | "| \($names[$k / 4 | floor]) | \(.rate) | " +
    ([.results[] | select(.strategy != "oracle") | cell] | join(" | ")) + " |"'

services=(none fixed:5 exp:5 exp:50 lognormal:5:0.5 lognormal:5:1 lognormal:5:2 two:5:200:0.03 two:5:200:0.3
  two:0.3:60:0.01)
files=()
for service in "${services[@]}"; do
  for rate in "${rates[@]}"; do
    file=$folder/${service//:/-}-$rate.scn
    scenario "$file" "$rate" "$healthy" "svc=$service" > "$file"
    files+=("$file")
  done
done
echo
echo "$healthy s of healthy mirrors, ${#services[@]} kinds of service time, six strategies, 1, 10, 60 and 800/s:"
simulate "${files[@]}" | jq -r '
  [.scenarios[] | .scenario as $name | .results[] | .strategy as $strategy | .news[]
   | select(.state != "ready" and .state != "starting" and .state != "full")
   | "\($name | sub(".*/"; "")) \($strategy): \(.state): \(.reason)"]
  | "false words: \(length)", .[]'
