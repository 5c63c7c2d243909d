#!/bin/bash
# Runs fuzz targets under AddressSanitizer and UBSan. `queries`: a client's request and its mirrors' answers through
# parse, plan, write, judge and merge; the others are readers of bytes (tests/fuzz/readers.cpp). Inputs that
# break something are left in build/fuzz/found/.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh

usage="usage: scripts/fuzz.sh [--no-install] [--seconds N] [--jobs N] [--target NAME] [LIBFUZZER_ARGUMENT|INPUT…]
  --seconds N    how long, 60 by default
  --jobs N       processes that share what they find, 1 by default
  --target NAME  one of them, for all the time; by default queries, and beside it the readers, one after the other
  INPUT          a file: run it alone, to see what it breaks"
install=yes
seconds=60
jobs=1
target=
while (($#)); do
  case $1 in
    --no-install) install=no; shift ;;
    --seconds) seconds=${2:?$usage}; shift 2 ;;
    --jobs) jobs=${2:?$usage}; shift 2 ;;
    --target) target=${2:?$usage}; shift 2 ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) break ;;
  esac
done

[[ $install == no ]] || install_packages "${build_packages[@]}" "${sanitizer_packages[@]}"
preset=asan
((seconds <= 600)) || preset=fuzz # hours are worth a build that is optimized
.ci/build "$preset" karmad_fuzz
readonly program=build/$preset/tests/karmad_fuzz corpora=build/fuzz/corpus found=build/fuzz/found

# Seeds are parted by ====, and within a seed by ----, which is the byte 0x1e for the target. Those of readers
# have the name of the reader in their first line.
mkdir -p "$corpora/queries" "$found"
awk -v to="$corpora" 'BEGIN {RS = "\n====\n"} {
  if (FILENAME ~ /readers/) {
    reader = substr($0, 1, index($0, "\n") - 1)
    sub(/^[^\n]*\n/, "")
    gsub(/----/, "\036")
    if (reader ~ /^(request|response|chunked|proxy)$/) gsub(/\n/, "\r\n")
  } else {
    reader = "queries"
    gsub(/\n----\n/, "\036")
    sub(/\n$/, "")
  }
  if (!(reader in seeds)) system("mkdir -p " to "/" reader)
  file = to "/" reader "/seed" ++seeds[reader]
  printf "%s", $0 > file
  close(file)
}' tests/fuzz/seeds.txt tests/fuzz/readers.txt
mapfile -t readers < <(find "$corpora" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | grep -vx queries | sort)

# with_target NAME ARGUMENT… : runs the program for that target.
with_target() {
  local run=("$program" "${@:2}")
  if [[ $1 == queries ]]; then "${run[@]}"; else KARMAD_FUZZ=$1 "${run[@]}"; fi
}
for input in "$@"; do
  [[ $input == -* ]] || { with_target "${target:-queries}" "$@"; exit; }
done

# fuzz NAME SECONDS ARGUMENT… : from its corpus.
fuzz() {
  local name=$1 for=$2
  shift 2
  local run=("$corpora/$name" -dict=tests/fuzz/dictionary.txt "-max_total_time=$for" -max_len=20000
    -timeout=10 -rss_limit_mb=3000 -malloc_limit_mb=1000 "-artifact_prefix=$found/$name-" -print_final_stats=1)
  ((jobs == 1)) || run+=("-fork=$jobs")
  if with_target "$name" "${run[@]}" "$@" >"$found/$name.log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$found/$name.log" | tail -1) inputs in $for s"
    return
  fi
  # Last, so that who has only the end of a log can try it.
  tail -30 "$found/$name.log"
  echo "what breaks it, for scripts/fuzz.sh --target $name FILE after base64 -d:"
  newest=$(find "$found" -type f -name "$name-*" -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)
  [[ -z $newest ]] || base64 -w 120 "$newest" | head -60
  grep -aE -m1 -A3 'BROKEN|ERROR: AddressSanitizer|runtime error|terminate called|Assertion' "$found/$name.log" || true
  exit 1
}

if [[ -n $target ]]; then
  fuzz "$target" "$seconds" "$@"
else
  (for reader in "${readers[@]}"; do fuzz "$reader" $(((seconds + ${#readers[@]} - 1) / ${#readers[@]})) "$@"; done) &
  fuzz queries "$seconds" "$@"
  wait $!
fi
