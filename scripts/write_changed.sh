#!/bin/sh
# write_changed.sh FILE COMMAND...: writes what the command prints to FILE, and leaves FILE and its
# time alone when it says that already.
set -eu
file=$1
shift
mkdir -p "$(dirname "$file")"
trap 'rm -f "$file.$$"' EXIT
"$@" >"$file.$$"
if cmp -s "$file.$$" "$file"; then exit 0; fi
mv "$file.$$" "$file"
