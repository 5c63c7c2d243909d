#!/bin/bash
# Runs the fuzz target: a client's request and its mirrors' answers through parse, plan, write, judge
# and merge, under AddressSanitizer and UBSan. Inputs that break something are left in build/fuzz/found/.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh

usage="usage: scripts/fuzz.sh [--no-install] [--seconds N] [--jobs N] [LIBFUZZER_ARGUMENT|INPUT…]
  --seconds N   how long, 60 by default
  --jobs N      processes that share what they find, 1 by default
  INPUT         a file: run it alone, to see what it breaks"
install=yes
seconds=60
jobs=1
while (($#)); do
  case $1 in
    --no-install) install=no; shift ;;
    --seconds) seconds=${2:?$usage}; shift 2 ;;
    --jobs) jobs=${2:?$usage}; shift 2 ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) break ;;
  esac
done

[[ $install == no ]] || install_packages "${build_packages[@]}" "${sanitizer_packages[@]}"
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzz_queries
readonly program=build/fuzz/tests/fuzz_queries corpus=build/fuzz/corpus found=build/fuzz/found
for input in "$@"; do
  [[ $input == -* ]] || exec "$program" "$@"
done

mkdir -p "$corpus" "$found"
# Seeds are parted by ====, the answers of a seed by ----, which is the byte 0x1e for the target.
awk -v to="$corpus/seed" 'BEGIN {RS = "\n====\n"} {
  gsub(/\n----\n/, "\036"); sub(/\n$/, ""); printf "%s", $0 > (to NR); close(to NR)
}' tests/fuzz/seeds.txt

run=("$program" "$corpus" -dict=tests/fuzz/dictionary.txt "-max_total_time=$seconds" -max_len=20000
  -timeout=10 -rss_limit_mb=3000 -malloc_limit_mb=1000 "-artifact_prefix=$found/" -print_final_stats=1)
((jobs == 1)) || run+=("-fork=$jobs")
if ! "${run[@]}" "$@" 2>&1 | tee "$found/log"; then
  # Last, so that who has only the end of a log can try it.
  echo "what breaks it, for scripts/fuzz.sh FILE after base64 -d:"
  newest=$(find "$found" -type f ! -name log -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)
  [[ -z $newest ]] || base64 -w 120 "$newest" | head -60
  grep -aE -m1 -A3 'BROKEN|ERROR: AddressSanitizer|runtime error|terminate called|Assertion' "$found/log" || true
  exit 1
fi
