#!/bin/bash
# Measures how long requests delay others on the same worker. Some clients send searches that merge two long
# replies, without a pause; one client sends small searches and one asks for /healthz. Prints the latencies of
# the small requests, first alone, then together with the long ones. Needs (Debian): wrk nginx. Give --karmad
# twice to compare.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/programs.sh"

usage="usage: bench/long_work.sh [OPTION…]
  --karmad PATH   the program (build/release/karmad); may be repeated
  --clients N     number of clients with long searches (8)
  --bytes N       approximate size of the reply of each of the two shards (8000000)
  --kind KIND     content of the replies: hits, or terms for 256 aggregations (hits)
  --seconds N     duration of each measurement (6)
  --port N        first of the five ports used (18500)"
programs=() clients=8 bytes=8000000 kind=hits seconds=6 port=18500
while (($#)); do
  case $1 in
    --karmad) programs+=("${2:?$usage}"); shift ;;
    --clients) clients=${2:?$usage}; shift ;;
    --bytes) bytes=${2:?$usage}; shift ;;
    --kind) kind=${2:?$usage}; shift ;;
    --seconds) seconds=${2:?$usage}; shift ;;
    --port) port=${2:?$usage}; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
((${#programs[@]})) || programs=(build/release/karmad)
need wrk nginx curl
readonly proxy=$((port + 3)) first=$port second=$((port + 1)) small=$((port + 2))

chmod 755 "$folder"  # nginx may run its workers as another user

# Writes the reply of a shard; $1: 0 or 1, so that the ids of the two shards differ.
reply() {
  awk -v shard="$1" -v bytes="$bytes" -v kind="$kind" 'BEGIN {
    printf "{\"took\":1,\"timed_out\":false,\"hits\":{\"total\":1000,\"total_relation\":\"eq\",\"hits\":["
    if (kind == "hits") {
      n = int(bytes / 300)
      filler = sprintf("%240s", ""); gsub(/ /, "x", filler)
      for (i = 0; i < n; ++i)
        printf "%s{\"_id\":%d,\"_score\":%d,\"_source\":{\"title\":\"%s\"}}", i ? "," : "",
          2 * i + shard, 2 * (n - i) + shard, filler
      printf "]}}"
    } else {
      each = int(bytes / 256 / 35)
      printf "]},\"aggregations\":{"
      for (a = 0; a < 256; ++a) {
        printf "%s\"a%d\":{\"buckets\":[", a ? "," : "", a
        for (i = 0; i < each; ++i)
          printf "%s{\"key\":\"%07d\",\"doc_count\":%d}", i ? "," : "", (i * 7919 + a) % each, each - i
        printf "]}"
      }
      printf "}}"
    }
  }' > "$folder/$1/search"
}

# Prints a search whose answer needs all of both replies.
query() {
  awk -v bytes="$bytes" -v kind="$kind" 'BEGIN {
    if (kind == "hits") {
      printf "{\"table\":\"long\",\"limit\":%d,\"max_matches\":%d}", bytes / 150, bytes / 150
    } else {
      each = int(bytes / 256 / 35)
      printf "{\"table\":\"long\",\"limit\":0,\"aggs\":{"
      for (a = 0; a < 256; ++a)
        printf "%s\"a%d\":{\"terms\":{\"field\":\"f%d\",\"size\":%d}}", a ? "," : "", a, a, each
      printf "}}"
    }
  }'
}

write_files() {
  mkdir "$folder/0" "$folder/1"
  reply 0
  reply 1
  # nginx answers a POST for a file with 405; here as a GET.
  cat > "$folder/mirrors.conf" << END
pid $folder/mirrors.pid;
worker_processes 2; daemon off; error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000; sendfile on; default_type application/json;
  client_body_temp_path $folder/b; proxy_temp_path $folder/p; fastcgi_temp_path $folder/f;
  uwsgi_temp_path $folder/u; scgi_temp_path $folder/s;
  server { listen 127.0.0.1:$first; root $folder/0; error_page 405 =200 \$uri; }
  server { listen 127.0.0.1:$second; root $folder/1; error_page 405 =200 \$uri; }
  server {
    listen 127.0.0.1:$small;
    location / { return 200 '{"took":0,"timed_out":false,"hits":{"total":0,"total_relation":"eq","hits":[]}}'; }
  }
}
END
  cat > "$folder/karmad.conf" << END
searchd {
    listen = 127.0.0.1:$proxy
    workers = 1
    log_level = warning
}
table long {
    type = distributed
    agent = 127.0.0.1:$first:long
    agent = 127.0.0.1:$second:long
}
table small {
    type = distributed
    agent = 127.0.0.1:$small:small
}
END
  query > "$folder/query"
  cat > "$folder/long.lua" << END
local file = io.open("$folder/query")
wrk.method = "POST"
wrk.body = file:read("a")
END
  cat > "$folder/small.lua" << 'END'
wrk.method = "POST"
wrk.body = '{"table":"small"}'
END
}

# Measures and prints the latencies of the small requests; $1: title of the line.
small_ones() {
  local what
  for what in search healthz; do
    local load=(wrk -t 1 -c 1 --latency -d "${seconds}s" --timeout 20s)
    [[ $what == search ]] && load+=(-s "$folder/small.lua")
    "${load[@]}" "http://127.0.0.1:$proxy/$what" > "$folder/wrk.$what" &
    waits+=($!)
  done
  wait "${waits[@]}"
  waits=()
  for what in search healthz; do
    awk -v beside="$1" -v what="$what" '
      $1 == "50%" { p50 = $2 } $1 == "99%" { p99 = $2 } $1 == "Latency" && !most { most = $4 }
      /Socket errors|Non-2xx/ { wrong = wrong " " $0 }
      END { printf "  %-9s %-22s p50 %10s  p99 %10s  longest %10s%s\n", what, beside, p50, p99, most, wrong }
    ' "$folder/wrk.$what"
  done
}

measure() {
  waits=()
  start nginx -p "$folder" -c "$folder/mirrors.conf"
  await "$small"
  start "$1" --config "$folder/karmad.conf"
  await "$proxy"
  curl -sS -m 60 --data-binary "@$folder/query" "http://127.0.0.1:$proxy/search" -o "$folder/answer" \
    -w '  one long answer: status %{http_code}, %{size_download} bytes, %{time_total} s\n'
  small_ones alone
  wrk -t 1 -c "$clients" -d "$((seconds + 2))s" --timeout 30s -s "$folder/long.lua" \
    "http://127.0.0.1:$proxy/search" > "$folder/wrk.long" &
  local long=$!
  sleep 1
  small_ones "with $clients merging"
  wait "$long"
  awk '/requests in|Socket errors|Non-2xx/ { print "  long ones:", $0 }' "$folder/wrk.long"
  curl -sS -m 20 "http://127.0.0.1:$proxy/status" | tr ',' '\n' |
    grep -E 'loop_|long_work|slow_clients' | tr -d '{}"' | paste -sd ' ' | sed 's/^/  /' || true
  stop_all
}

write_files
printf '%s; %s clients, 2 x %s bytes of %s, one worker\n' "$(machine)" "$clients" "$bytes" "$kind"
for program in "${programs[@]}"; do
  need_karmad "$program"
  echo "$program"
  measure "$(realpath "$program")"
done
