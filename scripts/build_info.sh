#!/bin/sh
# build_info.sh ISA COMPILER FLAGS: prints build_info.h, what `--version` and every result file say
# about the program itself.
set -eu
version=$(sed -n 's/^## \[\([0-9][^]]*\)].*/\1/p' CHANGELOG.md | head -n 1)
# Dirty: the sources differ from the commit, or there is no git to ask.
commit=unknown dirty=1
if head=$(git rev-parse HEAD 2>/dev/null); then
    commit=$head
    [ "$(git status --porcelain -- Makefile src encodings tasks)" ] || dirty=0
fi
text() { printf '#define %s "%s"\n' "$1" "$(printf %s "$2" | tr -s ' ' | sed 's/[\\"]/\\&/g')"; }
text HARNESS_VERSION "$version"
text HARNESS_GIT_COMMIT "$commit"
echo "#define HARNESS_GIT_DIRTY $dirty"
text HARNESS_ISA "$1"
text HARNESS_COMPILER "$2"
text HARNESS_CFLAGS "$3"
