#!/bin/bash
# Makes the Debian package of karmad in build/package/. Takes about seven minutes on two cores,
# because the program is built with a profile; --fast takes the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh

usage="usage: scripts/package.sh [OPTION…]
  --fast        without a profile: builds only what the release build lacks
  --build DIR   from this build folder, which must have karmad already
  --no-install  do not install missing packages"
install=yes folder=build/profiled build=profiled
while (($#)); do
  case $1 in
    --fast) folder=build/release build=release ;;
    --build) folder=${2:?$usage} build=none; shift ;;
    --no-install) install=no ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

[[ $install == no ]] ||
  install_packages "${build_packages[@]}" "${demo_packages[@]}" "${package_packages[@]}"
case $build in
  profiled) scripts/build_profiled.sh --no-install ;;
  release)
    [[ -f $folder/build.ninja ]] || cmake --preset release -DKARMAD_TESTS=OFF
    cmake --build "$folder" -j "$(nproc)" --target karmad ;;
  none) [[ -x $folder/karmad ]] || fail "$folder/karmad is not there" ;;
esac
cmake --build "$folder" --target karmad_files

# The same sources give the same package: its times are that of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null ||
  date -d "$(sed -n 's/^ -- .*>  //p' packaging/debian/changelog | head -1)" +%s)}
export SOURCE_DATE_EPOCH
rm -rf build/package/_CPack_Packages build/package/*.deb
cpack --config "$folder/CPackConfig.cmake" -B "$PWD/build/package"
rm -rf build/package/_CPack_Packages
echo "Made: $(echo build/package/*.deb)"
