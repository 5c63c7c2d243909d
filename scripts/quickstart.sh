#!/bin/bash
# Builds karmad and runs it in front of a real search cluster on this machine: 2 shards with 3
# mirrors each. Everything stops with Ctrl-C; files are left only below build/.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh

usage="usage: scripts/quickstart.sh [OPTION…]
  --port N        port of karmad (9308, or KARMAD_PORT); 0: free ports for karmad and the agents
  --agents N      first of six ports for the agents (9321, or KARMAD_AGENTS)
  --no-install    do not install missing packages
  --no-build      do not build the programs
  --programs DIR  folder of the programs (build/quickstart)
  --karmad FILE   an installed karmad, such as /usr/bin/karmad, instead of the one in that folder
  --check         run the suggested commands once, then stop; status 0 if all succeeded"
port=${KARMAD_PORT:-9308}
first_agent=${KARMAD_AGENTS:-9321}
programs=build/quickstart
karmad=
install=yes build=yes check=no
while (($#)); do
  case $1 in
    --port) port=${2:?$usage}; shift ;;
    --agents) first_agent=${2:?$usage}; shift ;;
    --programs) programs=${2:?$usage}; shift ;;
    --karmad) karmad=${2:?$usage}; shift ;;
    --no-install) install=no ;;
    --no-build) build=no ;;
    --check) check=yes ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
readonly mirrors=3 shards=2 table=products
readonly agents=$((mirrors * shards))
readonly patience=${KARMAD_PATIENCE:-30} # seconds until ready, and until all have stopped

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

in_use() { (: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Finds consecutive free ports, below those that the kernel assigns.
take_free_ports() {
  local number free=no
  while [[ $free == no ]]; do
    port=$((10000 + RANDOM % 2000 * 10))
    free=yes
    for ((number = port; number <= port + agents; ++number)); do
      if in_use "$number"; then free=no; fi
    done
  done
  first_agent=$((port + 1))
}
[[ $port != 0 ]] || take_free_ports

for number in "$port" "$first_agent"; do
  if [[ ! $number =~ ^[1-9][0-9]{0,4}$ ]] || ((number > 65535)); then
    fail "not a port: $number"
  fi
done
((first_agent + agents - 1 <= 65535)) || fail "no room for $agents ports from $first_agent"
((port < first_agent || port >= first_agent + agents)) || fail "port $port is the port of karmad and of an agent"

logs=build/quickstart-$port
master=127.0.0.1:$port

# --- children ---------------------------------------------------------------------------------

declare -A name_of=() # of each started process whose end was not noticed yet
declare -A pid_of=()

# start NAME PROGRAM ARGUMENT… : starts a child whose output goes to a log. If this script is killed
# with SIGKILL, the kernel stops the child.
start() {
  local name=$1 together=()
  shift
  command -v setpriv >/dev/null && together=(setpriv --pdeathsig TERM --)
  "${together[@]}" "$@" >"$logs/$name.log" 2>&1 </dev/null &
  pid_of[$name]=$!
  name_of[$!]=$name
}

tell_all() { ((${#name_of[@]} == 0)) || kill -"$1" "${!name_of[@]}" 2>/dev/null || true; }

# Finds a child that has ended since the last call: `ended` is its name, `ended_with` its status.
next_ended() {
  local pid
  for pid in "${!name_of[@]}"; do
    kill -0 "$pid" 2>/dev/null && continue
    ended=${name_of[$pid]}
    ended_with=0
    wait "$pid" 2>/dev/null || ended_with=$?
    unset "name_of[$pid]"
    return 0
  done
  return 1
}

stop_all() {
  local status=$?
  [[ -z ${attributions:-} ]] || exec 2>&"$attributions"
  trap '' INT TERM HUP
  trap - EXIT
  tell_all TERM
  tell_all CONT # a stopped process handles the other signal only when it continues
  local until=$((SECONDS + patience))
  while ((${#name_of[@]} > 0 && SECONDS < until)); do
    next_ended || sleep 0.1
  done
  if ((${#name_of[@]} > 0)); then
    echo "Still running after $patience s, killed: ${name_of[*]}" >&2
    tell_all KILL
  fi
  wait 2>/dev/null || true
  exit "$status"
}

show_log() {
  printf '%s\n' "--- the end of $logs/$1.log" >&2
  tail -n 20 "$logs/$1.log" >&2
}

# Ends the script if a child has ended, with its name, its status and its last output.
all_must_live() {
  next_ended || return 0
  show_log "$ended"
  fail "$ended ended with status $ended_with"
}

# --- install, build, start --------------------------------------------------------------------

[[ $install == no ]] || install_packages "${build_packages[@]}" "${demo_packages[@]}"
if [[ $build == yes ]]; then
  targets=(karmad-demo-agent)
  [[ -n $karmad ]] || targets+=(karmad)
  cmake --preset quickstart -B "$programs"
  cmake --build "$programs" -j "$(nproc)" --target "${targets[@]}"
fi
karmad=${karmad:-$programs/karmad}
for program in "$karmad" "$programs/karmad-demo-agent"; do
  [[ -x $program ]] || fail "$program is not there"
done

for number in "$port" $(seq "$first_agent" $((first_agent + agents - 1))); do
  if in_use "$number"; then
    fail "port $number is in use; choose others with --port and --agents"
  fi
done

mkdir -p "$logs"
trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

for ((i = 0; i < agents; ++i)); do
  shard=$((i / mirrors))
  start "s$((shard + 1))m$((i % mirrors + 1))" "$programs/karmad-demo-agent" \
    --listen "127.0.0.1:$((first_agent + i))" --table "$table" --shard "$shard/$shards" \
    --name "s$((shard + 1))m$((i % mirrors + 1))"
  export "KARMAD_AGENT_$((i + 1))=$((first_agent + i))"
done
export KARMAD_PORT=$port
start karmad "$karmad" --config demo/karmad.conf

answer=
until=$((SECONDS + patience))
until answer=$(curl -s --max-time 1 -w '\n%{http_code}' "http://$master/readyz") &&
  [[ ${answer##*$'\n'} == 200 ]]; do
  all_must_live
  if ((SECONDS >= until)); then
    for name in "${!pid_of[@]}"; do show_log "$name"; done
    fail "not ready within $patience s; GET /readyz said: ${answer:-nothing}"
  fi
  sleep 0.2
done
all_must_live # otherwise another process on these ports has answered

# --- suggested commands ------------------------------------------------------------------------------

search="curl -s http://$master/search -d '{\"table\":\"$table\",\"query\":{\"match\":{\"*\":\"steel kettle\"}},\"limit\":3}'"
status="curl -s http://$master/cli -d 'SHOW AGENTS'"
victim=s1m1
kill_one="kill -9 ${pid_of[$victim]}; $search"

# try WANTED COMMAND : runs the command; its output must contain WANTED.
try() {
  local said
  said=$(bash -c "$2" 2>&1) || fail "failed: $2"$'\n'"$said"
  [[ $said == *"$1"* ]] || fail "no '$1' in the answer to: $2"$'\n'"$said"
  echo "ok: $2"
}

if [[ $check == yes ]]; then
  try '"hits"' "$search"
  try "$first_agent" "$status"
  try '"hits"' "$kill_one"
  until=$((SECONDS + patience))
  until next_ended; do
    ((SECONDS < until)) || fail "$victim is still there"
    sleep 0.1
  done
  if [[ $ended != "$victim" ]]; then
    show_log "$ended"
    fail "$ended ended with status $ended_with"
  fi
  all_must_live
  rm -r "$logs"
  exit 0
fi

echo
echo "Ready. karmad: http://$master (pid ${pid_of[karmad]}), config demo/karmad.conf"
for ((i = 0; i < agents; ++i)); do
  name=s$((i / mirrors + 1))m$((i % mirrors + 1))
  echo "  shard $((i / mirrors + 1)), mirror $name: http://127.0.0.1:$((first_agent + i)) (pid ${pid_of[$name]})"
done
cat <<END
Logs: $logs/

Try, in another terminal:

  # a search over both shards
  $search

  # the state of each mirror
  $status

  # kill a mirror: the next answer is complete, too
  $kill_one

Ctrl-C stops all of it.
END

exec {attributions}>&2 2>/dev/null # hides the message of bash about a killed child
while ((${#name_of[@]} > 0)); do
  next_ended || { sleep 0.5; continue; }
  if [[ $ended == karmad ]]; then
    exec 2>&"$attributions"
    show_log karmad
    fail "karmad ended with status $ended_with"
  fi
  echo "$ended ended with status $ended_with; karmad continues without it"
done
