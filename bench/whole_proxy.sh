#!/bin/bash
# Measures the CPU time per request of karmad, HAProxy and nginx. Each proxy runs alone on the first core in
# front of two mirrors (an nginx that answers at once); wrk and the mirrors share the other cores. karmad has its
# default settings; the others have no checks and no logs. The proxies take turns, round by round, so that other
# load on the machine affects all of them. Compare only figures of one run, on a machine without other work.
# Needs (Debian): wrk haproxy nginx, and with --tls openssl.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/programs.sh"

usage="usage: bench/whole_proxy.sh [OPTION…]
  --karmad PATH     the program (build/release/karmad)
  --rounds N        rounds for each proxy (4)
  --seconds N       duration of the load in a round (6)
  --connections N   number of client connections, all busy (64)
  --bytes N         approximate size of an answer's body (600)
  --tls             clients use TLS 1.3 with AES-256-GCM, and a certificate with a key on the curve P-256
  --close           a connection, and with --tls a whole handshake, for each request
  --port N          first of the four ports used (18400)"
karmad=build/release/karmad rounds=4 seconds=6 connections=64 bytes=600 port=18400 tls='' close=''
while (($#)); do
  case $1 in
    --karmad) karmad=${2:?$usage}; shift ;;
    --rounds) rounds=${2:?$usage}; shift ;;
    --seconds) seconds=${2:?$usage}; shift ;;
    --connections) connections=${2:?$usage}; shift ;;
    --bytes) bytes=${2:?$usage}; shift ;;
    --tls) tls=yes ;;
    --close) close=yes ;;
    --port) port=${2:?$usage}; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
need wrk haproxy nginx taskset
need_karmad "$karmad"
karmad=$(realpath "$karmad")
cores=$(nproc)
((cores >= 2)) || fail "two cores are needed, one for the proxy alone"
readonly proxy_core=0 other_cores=1-$((cores - 1))
readonly proxy=$((port + 2)) first=$port second=$((port + 1))

scheme=http karmad_listen=http karmad_tls='' haproxy_tls='' nginx_tls=''
if [[ $tls ]]; then
  need openssl
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=IP:127.0.0.1 -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null
  cat "$folder/certificate.pem" "$folder/key.pem" > "$folder/both.pem"
  chmod 600 "$folder"/*.pem
  scheme=https karmad_listen=https
  karmad_tls="tls_certificate = $folder/certificate.pem
    tls_key = $folder/key.pem"
  haproxy_tls="ssl crt $folder/both.pem ssl-min-ver TLSv1.3 ciphersuites TLS_AES_256_GCM_SHA384"
  nginx_tls="ssl_certificate $folder/certificate.pem; ssl_certificate_key $folder/key.pem;
    ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384;"
fi

nginx_common="worker_processes 1; daemon off; error_log stderr crit;
events { worker_connections 4096; multi_accept on; }"
http_common="access_log off; keepalive_requests 1000000000; keepalive_timeout 60s; tcp_nodelay on;
  client_body_temp_path $folder/b; proxy_temp_path $folder/p; fastcgi_temp_path $folder/f;
  uwsgi_temp_path $folder/u; scgi_temp_path $folder/s;"

write_configurations() {
  local title answer
  title=$(printf 'x%.0s' $(seq $((bytes > 130 ? bytes - 130 : 1))))
  answer="{\"took\":0,\"timed_out\":false,\"hits\":{\"total\":1,\"total_relation\":\"eq\",\"hits\":[{\"_id\":1,\"_score\":1,\"_source\":{\"title\":\"$title\"}}]}}"
  cat > "$folder/mirrors.conf" << END
pid $folder/mirrors.pid;
$nginx_common
http {
  $http_common
  default_type application/json;
  server {
    listen 127.0.0.1:$first; listen 127.0.0.1:$second;
    location / { return 200 '$answer'; }
  }
}
END
  cat > "$folder/karmad.conf" << END
searchd {
    listen = 127.0.0.1:$proxy:$karmad_listen
    $karmad_tls
    workers = 1
    log_level = warning
}
table products {
    type = distributed
    agent = 127.0.0.1:$first|127.0.0.1:$second:products
}
END
  cat > "$folder/haproxy.conf" << END
global
    nbthread 1
    maxconn 4000
defaults
    mode http
    timeout connect 200ms
    timeout client 60s
    timeout server 30s
    http-reuse always
    option http-no-delay
frontend in
    bind 127.0.0.1:$proxy $haproxy_tls
    default_backend mirrors
backend mirrors
    balance roundrobin
    server m1 127.0.0.1:$first pool-max-conn -1
    server m2 127.0.0.1:$second pool-max-conn -1
END
  cat > "$folder/nginx.conf" << END
pid $folder/nginx.pid;
$nginx_common
http {
  $http_common
  upstream mirrors {
    server 127.0.0.1:$first max_fails=0; server 127.0.0.1:$second max_fails=0;
    keepalive 256; keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:$proxy${tls:+ ssl};
    $nginx_tls
    location / {
      proxy_pass http://mirrors; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffer_size 16k; proxy_buffers 8 16k; proxy_max_temp_file_size 0;
    }
  }
}
END
  cat > "$folder/post.lua" << 'END'
wrk.method = "POST"
wrk.body = '{"table":"products","query":{"match":{"title":"brown fox"}},"limit":20}'
wrk.headers["Content-Type"] = "application/json"
END
  if [[ $close ]]; then echo 'wrk.headers["Connection"] = "close"' >> "$folder/post.lua"; fi
}

# CPU time of a program with its children so far, in nanoseconds.
cpu_of() {
  local pid sum=0 task ran rest
  for pid in "$1" $(pgrep -P "$1" || true); do
    for task in /proc/"$pid"/task/*/schedstat; do
      read -r ran rest < "$task" || continue
      sum=$((sum + ran))
    done
  done
  : "$rest"
  echo "$sum"
}

# measure PROXY : loads it; appends "name requests/s CPU-µs/request p99-ms" to the results.
measure() {
  local command pid before after
  case $1 in
    karmad) command=("$karmad" --config "$folder/karmad.conf") ;;
    haproxy) command=(haproxy -db -f "$folder/haproxy.conf") ;;
    nginx) command=(nginx -p "$folder" -c "$folder/nginx.conf") ;;
  esac
  start taskset -c "$other_cores" nginx -p "$folder" -c "$folder/mirrors.conf"
  await "$second"
  start taskset -c "$proxy_core" "${command[@]}"
  pid=$!
  await "$proxy"
  local load=(taskset -c "$other_cores" wrk -t 1 -c "$connections" --latency -s "$folder/post.lua"
    "$scheme://127.0.0.1:$proxy/search")
  "${load[@]}" -d 1s > /dev/null
  before=$(cpu_of "$pid")
  "${load[@]}" -d "${seconds}s" > "$folder/wrk"
  after=$(cpu_of "$pid")
  stop_all
  if grep -q -e 'Non-2xx' -e 'Socket errors' "$folder/wrk"; then
    fail "$1: $(grep -e 'Non-2xx' -e 'Socket errors' "$folder/wrk")"
  fi
  awk -v name="$1" -v cpu="$((after - before))" '
    $1 == "99%" { p99 = $2; if (p99 ~ /us$/) p99 /= 1000; else if (p99 ~ /[0-9]s$/) p99 *= 1000 }
    $2 == "requests" && $3 == "in" { n = $1 }
    $1 == "Requests/sec:" { rate = $2 }
    END { printf "%s %.0f %.3f %.3f\n", name, rate, cpu / n / 1000, p99 + 0 }' "$folder/wrk" \
    >> "$folder/results"
}

write_configurations
for ((round = 0; round < rounds; ++round)); do
  for name in karmad haproxy nginx; do measure "$name"; done
done

printf '%s; %s%s connections, answers of about %s bytes, %s rounds of %s s\n' "$(machine)" \
  "$scheme, $connections" "${close:+ closed after each request}" "$bytes" "$rounds" "$seconds"
printf '%-8s %11s %15s %8s   (medians)\n' program requests/s 'CPU us/request' 'p99 ms'
awk '
  function median(key, n, i, j, x, a) {
    for (i = 1; i <= n; ++i) a[i] = value[key, i]
    for (i = 2; i <= n; ++i) {
      x = a[i]
      for (j = i - 1; j >= 1 && a[j] > x; --j) a[j + 1] = a[j]
      a[j + 1] = x
    }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
  }
  { if (!count[$1]++) order[++programs] = $1
    for (c = 2; c <= 4; ++c) value[$1 SUBSEP c, count[$1]] = $c }
  END {
    for (i = 1; i <= programs; ++i) {
      p = order[i]
      for (c = 2; c <= 4; ++c) of[p, c] = median(p SUBSEP c, count[p])
      printf "%-8s %11.0f %15.2f %8.2f\n", p, of[p, 2], of[p, 3], of[p, 4]
    }
    printf "karmad / nginx: CPU per request %.2f, requests/s %.2f\n",
      of["karmad", 3] / of["nginx", 3], of["karmad", 2] / of["nginx", 2]
    printf "karmad / haproxy: CPU per request %.2f, requests/s %.2f\n",
      of["karmad", 3] / of["haproxy", 3], of["karmad", 2] / of["haproxy", 2]
  }' "$folder/results"
