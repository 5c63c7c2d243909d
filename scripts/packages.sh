# shellcheck shell=bash disable=SC2034
# The Debian packages that the project needs, and functions that install missing ones. For `source`
# in bash. docs/decisions/001-dependencies.md has the reason for each package.

# Debian 12 has Boost 1.81 beside its 1.74; Debian 13 has 1.83. All other names are the same in both.
debian=$(sed -n 's/^VERSION_ID="\{0,1\}\([0-9]*\).*/\1/p' /etc/os-release 2>/dev/null || true)
boost=libboost1.81-dev
if ((${debian:-12} >= 13)); then boost=libboost1.83-dev; fi
build_packages=(g++ cmake ninja-build re2c lemon "$boost" rapidjson-dev libfmt-dev libspdlog-dev
  libcli11-dev libjemalloc-dev zlib1g-dev libzstd-dev libc-ares-dev libssl-dev libsqlite3-dev libjs-chart.js)
demo_packages=(curl)
test_packages=(libgtest-dev curl groonga-bin etcd-server mariadb-client php-cli php-mysql)
# promtool, and a browser for the dashboard; prometheus also starts a server
ci_packages=(prometheus chromium)
# clients of the MySQL protocol for .ci/clients; nodejs and npm beside them, unless they come from elsewhere
client_packages=(mariadb-client python3-pymysql python3-sqlalchemy python3-django php-cli php-mysql libdbd-mysql-perl
  libdbd-mariadb-perl ruby-mysql2 libmariadb-java default-jdk-headless curl)
bench_packages=(libbenchmark-dev)
count_packages=(valgrind strace)  # for bench/instructions
format_packages=(clang-format-14)
tidy_packages=(clang-tidy-19)
# compiler and run-time libraries of the sanitizers and of the fuzz target: builds in half the time of g++
sanitizer_packages=(clang-19 libclang-rt-19-dev)
# dpkg-shlibdeps finds the libraries that the package depends on.
package_packages=(dpkg-dev)
# Checks of the package, a fresh root, checks of the unit; readers of completions and manual pages.
ci_package_packages=(lintian debootstrap systemd zsh fish mandoc)

# missing_packages NAME… : prints those that are not installed, one per line.
missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      printf '%s\n' "$package"
  done
}

# removed_by OUTPUT : prints the packages that a simulated apt-get would remove.
removed_by() { awk '$1 == "Remv" || $1 == "Purg" {print $2}' <<<"$1" | sort -u | tr '\n' ' '; }

simulate_install() { LC_ALL=C apt-get install -s --no-install-recommends "$@" 2>&1 </dev/null; }

# Prints for each package alone which packages it would remove, or why apt refuses it.
explain_refusal() {
  local package answer removed
  for package in "$@"; do
    if ! answer=$(simulate_install "$package"); then
      printf '  %s: %s\n' "$package" "$(grep -m1 -E '^E:|Depends:' <<<"$answer" || echo 'apt-get failed')"
    else
      removed=$(removed_by "$answer")
      [[ -z $removed ]] || printf '  %s would remove: %s\n' "$package" "${removed% }"
    fi
  done
}

# install_packages NAME… : installs missing packages and prints their names. Uses sudo only if not
# root. Never removes a package: prints the conflicts and returns 1 without a change.
install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "error: no apt-get here; this needs Debian 12 or 13. With --no-install only installed packages are used" >&2
    return 1
  fi
  local missing=() answer
  mapfile -t missing < <(missing_packages "$@" | sort -u)
  ((${#missing[@]})) || return 0
  echo "Missing Debian packages: ${missing[*]}"

  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  if ((EUID != 0)) && command -v sudo >/dev/null; then apt=(sudo "${apt[@]}"); fi

  if ! answer=$(simulate_install "${missing[@]}"); then
    echo "Refreshing the package lists (apt-get update)"
    "${apt[@]}" update </dev/null || echo "warning: apt-get update failed; trying with the existing package lists" >&2
    answer=$(simulate_install "${missing[@]}") || {
      echo "error: apt-get cannot install these packages:" >&2
      explain_refusal "${missing[@]}" >&2
      return 1
    }
  fi
  if [[ -n $(removed_by "$answer") ]]; then
    echo "error: installing would remove packages, so nothing was changed:" >&2
    explain_refusal "${missing[@]}" >&2
    echo "Remove them first if they are not needed, or use a container." >&2
    return 1
  fi
  if ((EUID != 0)) && [[ ${apt[0]} != sudo ]]; then
    echo "error: installing needs root, and there is no sudo. As root, run:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    return 1
  fi

  echo "Installing: ${missing[*]}"
  apt+=(-y --no-install-recommends --no-remove)
  "${apt[@]}" install "${missing[@]}" </dev/null && return 0
  echo "Trying once more with fresh package lists"
  "${apt[@]}" update </dev/null && "${apt[@]}" install "${missing[@]}" </dev/null
}
