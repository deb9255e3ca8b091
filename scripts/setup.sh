#!/bin/sh
# setup.sh [tests] [fuzz] [memcheck] [aarch64]: installs what scripts/probe.sh does not find: what
# the program needs and, with `tests`, what its tests need as well; `fuzz`, `memcheck` and `aarch64`
# add what these targets of the Makefile need. Says what it will install and asks apt-get, as root
# or through a sudo that wants no password; for other package managers it prints the line to type.
# CC=clang looks for what clang needs.
set -eu
cc=${CC:-cc}
found=$("$(dirname "$0")/probe.sh" "$cc")
value() { printf '%s\n' "$found" | sed -n "s/^$1 = //p"; }
needed=$(value MISSING)
also=
for part; do
    case $part in
    tests) needed="$needed $(value UNTESTED)" ;;
    fuzz)
        echo 'int LLVMFuzzerTestOneInput(const char *b, unsigned long n) { return !b && n; }' |
            $cc -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null ||
            needed="$needed libFuzzer" also="$also libclang-rt-dev"
        ;;
    memcheck)
        command -v valgrind >/dev/null || needed="$needed valgrind" also="$also valgrind libc6-dbg"
        ;;
    aarch64)
        command -v aarch64-linux-gnu-gcc >/dev/null ||
            needed="$needed aarch64-linux-gnu-gcc" \
                also="$also gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
        ;;
    esac
done
wanted=$(value SLOW)
if [ "${1:-}" = tests ] && [ "$(uname)" = Linux ] && ! command -v strace >/dev/null; then
    wanted="$wanted strace" # tests/crash says what it leaves out without it
fi
# shellcheck disable=SC2086 # a list of words
set -- $needed $wanted
[ $# -gt 0 ] || exit 0

say() { printf 'harness: %s\n' "$*" >&2; }
say "missing: $*"

packages='gcc libc6-dev make libhdf5-dev liblua5.4-dev librandom123-dev check python3-venv git'
case $cc in *clang*) packages="$packages clang libomp-dev" ;; esac
packages="$packages$also"
fast='libdnnl-dev libxsmm-dev' # not for every processor
case $wanted in *strace*) fast="$fast strace" ;; esac

# Nothing was installed: tells how, and ends; what only makes it faster stops nobody.
by_hand() {
    cat >&2 <<END
$1
    Debian, Ubuntu   apt-get install $packages $fast
    conda            conda install -c conda-forge c-compiler make hdf5 lua=5.4 check git \\
                     'onednn=*=omp*'
                     and the headers of https://github.com/DEShawResearch/random123
END
    [ -z "$needed" ]
    exit
}

if command -v apt-get >/dev/null; then
    as_root=
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null || by_hand 'Installing needs root. As root, or without it:'
        as_root='sudo -n'
    fi
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    apt() {
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 "$@" \
            >>"$log" 2>&1
    }
    say "asking apt-get for its lists of packages"
    apt update || say "apt-get update failed; going on with the lists that are there"
    for package in $fast; do
        ! apt-cache show "$package" >/dev/null 2>&1 || packages="$packages $package"
    done
    say "installing with apt-get: $packages"
    # shellcheck disable=SC2086 # a list of words
    if ! apt install -y --no-install-recommends --no-upgrade $packages; then
        tail -n 15 "$log" >&2
        by_hand 'apt-get failed (its last lines are above). By hand:'
    fi
elif command -v dnf >/dev/null; then
    by_hand "With dnf (not tried by us):
    dnf install gcc make hdf5-devel lua-devel Random123-devel onednn-devel libxsmm-devel \\
        check-devel git"
elif command -v pacman >/dev/null; then
    by_hand "With pacman (not tried by us; Random123 from the AUR):
    pacman -S gcc make hdf5 lua54 onednn check python git"
elif command -v brew >/dev/null; then
    by_hand "With Homebrew (not tried by us; Random123 from its repository):
    brew install hdf5 lua@5.4 libomp onednn check git"
else
    by_hand 'No package manager that this script knows. What is needed:'
fi
