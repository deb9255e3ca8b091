#!/bin/sh
# The launcher, on a project of one file that prints its arguments: when it builds, what it passes
# on, what it says and how it ends. Ends with "N passed, N failed".
set -u
root=$(pwd)
set -- ./harness
. tests/program.sh
unset HARNESS_ISA HARNESS_NO_SETUP
silent() { [ ! -s "$work/$1" ]; }
source_of() { # source_of TEXT: the one source file; it answers with TEXT, its folder and arguments
    cat >src/main.c <<END
#include <stdio.h>
#include <unistd.h>
#include "build_info.h"
int main(int argc, char **argv) {
    char folder[4096];
    printf("$1 in %s dirty %d\n", getcwd(folder, sizeof folder), HARNESS_GIT_DIRTY);
    for (int i = 1; i < argc; i++) printf("[%s]\n", argv[i]);
    return argc > 1 ? 75 : 0;
}
END
}

# A folder with a blank in its name, as people have them.
project="$work/the project"
mkdir -p "$project/src" "$project/encodings" "$project/tasks"
cp -R harness Makefile CHANGELOG.md scripts "$project"
cd "$project" || exit 1
source_of first
echo build/ >.gitignore
git init -q . && git add -A && git -c user.name=t -c user.email=t@t commit -q -m first

start 'two words' '' '*' "it's"
printf '[two words]\n[]\n[*]\n[it'\''s]\n' >"$work/expected"
sed 1d "$work/out" >"$work/arguments"
holds 'arguments arrive as they were' cmp "$work/arguments" "$work/expected"
holds 'the exit status is that of the program' [ "$status" = 75 ]
holds 'one line tells that it builds' [ "$(grep -c . "$work/err")" = 1 ]
holds 'a clean tree is clean' says out 'dirty 0'

mkdir "$work/tools"
printf '#!/bin/sh\necho make was called >&2\nexit 1\n' >"$work/tools/make"
chmod +x "$work/tools/make"
PATH=$work/tools:$PATH start
holds 'nothing changed: make is not called' silent err
holds 'and the program runs' says out '^first in'

mkdir "$work/elsewhere"
ln -s "$project/harness" "$work/elsewhere/link"
ln -s link "$work/elsewhere/again"
cd "$work/elsewhere" || exit 1
program=./again start
holds 'through a link to a link, from another folder' says out "^first in .*/elsewhere "
holds 'nothing is written there' [ "$(ls)" = "$(printf 'again\nlink')" ]
PATH=$project:$PATH program=harness start
holds 'through PATH' says out "^first in .*/elsewhere "
cd "$project" || exit 1

source_of second
start
holds 'an edit is built' says out '^second in .* dirty 1'
git -c user.name=t -c user.email=t@t commit -q -a -m second
start
holds 'a commit is noticed' says out '^second in .* dirty 0'
echo 'int extra(void);' >src/extra.h
sed 's/^int main/#include "src\/extra.h"\n&/' src/main.c >"$work/main.c" && cp "$work/main.c" src
start
rm src/extra.h
start
holds 'a removed header is noticed' [ "$status" = 1 ]
holds 'the compiler is heard' says err 'extra.h'
holds 'an old program does not run in place of a new one' silent out
source_of third
start
holds 'mended' says out '^third in'

source_of fourth
for i in 1 2 3 4; do
    ./harness >"$work/out$i" 2>"$work/err$i" </dev/null &
done
wait
for i in 1 2 3 4; do
    holds 'of four starts at once every one runs' grep -q '^fourth' "$work/out$i"
done
holds 'and one of them built' [ "$(cat "$work"/err? | grep -c 'building for')" = 1 ]

HARNESS_ISA=pentium start
holds 'an unknown instruction set is refused' [ "$status" = 2 ]
holds 'and those of this machine are named' says err 'one of .*native'
. scripts/isa.sh
for level in $isas native; do
    HARNESS_ISA=$level start
    holds "HARNESS_ISA=$level has its own folder" [ -x "build/$level/harness" ]
    holds 'and runs' says out '^fourth'
done

# A system with no compiler, no make and no package manager.
mkdir "$work/bare"
for tool in sh dirname readlink find mkdir flock mktemp rm sed cat id head cmp mv uname grep nproc \
    sort tr; do
    ln -s "$(command -v $tool)" "$work/bare"
done
git clean -q -f -d -x
PATH=$work/bare start
holds 'without a package manager it ends with 1' [ "$status" = 1 ]
holds 'says what is missing' says err 'missing: cc make'
holds 'prints the line for apt' says err 'apt-get install .*libhdf5-dev'
holds 'and that for conda' says err 'conda install'
PATH=$work/bare HARNESS_NO_SETUP=1 start
holds 'HARNESS_NO_SETUP: nothing is installed, it ends with 1' [ "$status" = 1 ]
holds 'and names the script that would' says err 'setup'

cd "$root" || exit 1
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
