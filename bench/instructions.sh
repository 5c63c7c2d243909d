#!/bin/bash
# Instructions that karmad executes in user space for one request: counted by callgrind for many requests of one client,
# less those of a run with few. Prints a table in Markdown, a column per program: give the program of the
# commit before too, for the numbers depend on compiler and libraries, and only programs built alike can be compared.
# Needs valgrind; takes about 20 s per program and row.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/programs.sh"

usage="usage: bench/instructions.sh [OPTION…] [KARMAD…]
  --agent PATH   the demo agent (karmad-demo-agent beside the first program)
  --requests N   whose instructions are counted (1000)
KARMAD: programs to compare (build/release/karmad)"
agent='' requests=1000 programs=()
while (($#)); do
  case $1 in
    --agent) agent=${2:?$usage}; shift ;;
    --requests) requests=${2:?$usage}; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    -*) echo "$usage" >&2; exit 2 ;;
    *) programs+=("$1") ;;
  esac
  shift
done
((${#programs[@]})) || programs=(build/release/karmad)
agent=${agent:-$(dirname "${programs[0]}")/karmad-demo-agent}
need valgrind
for program in "${programs[@]}" "$agent"; do need_karmad "$program"; done
readonly port=21910 few=100
readonly body='{"table":"one","query":{"match":{"title":"lamp"}},"limit":1}'

cat > "$folder/karmad.conf" <<CONF
table one {
    type  = distributed
    agent = 127.0.0.1:$((port + 1)):products
}
searchd {
    listen  = 127.0.0.1:$port
    workers = 1
    ha_ping_interval = 0
}
CONF

# ask COUNT : sends so many searches on one connection, always some of them at once, so that karmad hardly waits: the work
# of its timers while it waits would count too.
ask() {
  local i n line length requests='' at_once=50
  for ((i = 0; i < at_once; ++i)); do
    printf -v line 'POST /search HTTP/1.1\r\nHost: bench\r\nContent-Length: %s\r\n\r\n%s' "${#body}" "$body"
    requests+=$line
  done
  exec 3<> "/dev/tcp/127.0.0.1/$port"
  for ((n = 0; n < $1; n += at_once)); do
    printf '%s' "$requests" >&3
    for ((i = 0; i < at_once; ++i)); do
      while IFS= read -r line <&3 && [[ $line != $'\r' ]]; do
        [[ ${line,,} == content-length:* ]] && length=${line##*: }
      done
      LC_ALL=C IFS= read -r -N "${length%$'\r'}" line <&3
    done
  done
  exec 3>&-
}

# count PROGRAM REQUESTS : instructions from its start to its end.
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" --config "$folder/karmad.conf" \
    > "$folder/valgrind" 2>&1 &
  local pid=$!
  await "$port"
  ask "$2"
  kill "$pid"
  wait "$pid" || true
  sed -n 's/.*Collected : //p' "$folder/valgrind"
}

start "$agent" --listen "127.0.0.1:$((port + 1))" --documents 100
await "$((port + 1))"
printf '| instructions in user space, per request |%s\n|---|%s\n' "$(printf ' %s |' "${programs[@]}")" \
  "$(printf -- '---|%.0s' "${programs[@]}")"
printf '| a search that is passed on to one shard |'
for program in "${programs[@]}"; do
  printf ' %d |' "$((($(count "$program" "$((few + requests))") - $(count "$program" "$few")) / requests))"
done
printf '\n'
