#!/bin/sh
# try_fresh.sh COMMAND...: runs the command as a newcomer would, in a fresh clone of HEAD inside a
# bare Debian (debootstrap's minbase: no compiler, no make, no git, no Python). For example
#   scripts/try_fresh.sh ./harness configs/quickstart.lua
#   scripts/try_fresh.sh sh -c './harness configs/quickstart.lua && make check'
# As root, on Debian or Ubuntu with debootstrap; a minute before the command starts. MIRROR is the
# package archive, the machine's own unless given.
set -eu
say() { printf 'try_fresh: %s\n' "$*" >&2; }
[ $# -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    say 'needs root and debootstrap (apt-get install debootstrap).'
    say 'Without them, the same in any container of a bare Debian, with this folder mounted:'
    say "    git clone /mounted project && cd project && $*"
    exit 1
fi
top=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=${MIRROR:-$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' |
    awk -v suite="$suite" '$1 == suite && $2 == "main" { print $3; exit }')}

root=$(mktemp -d /var/tmp/try_fresh.XXXXXX)
leave() {
    umount -l "$root/proc" "$root/dev" 2>/dev/null || :
    rm -rf --one-file-system "$root"
}
trap leave EXIT
trap 'exit 130' INT TERM
say "a bare $suite from $mirror"
debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" \
    >"$root/debootstrap.out" 2>&1 || { tail -n 5 "$root/debootstrap.out" >&2; exit 1; }

# The network as this machine has it: package sources and certificates.
for path in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/apt/apt.conf.d /etc/apt/sources.list \
    /etc/apt/sources.list.d /etc/apt/keyrings /etc/ssl/certs /usr/local/share/ca-certificates; do
    [ ! -e "$path" ] || { rm -rf "$root$path" && cp -RL "$path" "$root$path"; }
done
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
git clone -q --no-hardlinks "$top" "$root/root/project"

say "$*"
chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${https_proxy:+"https_proxy=$https_proxy"} ${http_proxy:+"http_proxy=$http_proxy"} \
    /bin/sh -c 'cd /root/project && exec "$@"' sh "$@"
