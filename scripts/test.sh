#!/bin/bash
# Installs missing packages, builds everything, runs every test.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh

usage="usage: scripts/test.sh [--preset release|dev|asan|tsan] [--no-install] [CTEST_ARGUMENT…]"
preset=release
install=yes
while (($#)); do
  case $1 in
    --preset) preset=${2:?$usage}; shift 2 ;;
    --preset=*) preset=${1#*=}; shift ;;
    --no-install) install=no; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    --) shift; break ;;
    *) break ;;
  esac
done

[[ $install == no ]] || install_packages "${build_packages[@]}" "${test_packages[@]}"
.ci/build "$preset"
.ci/test "$preset" "$@"
