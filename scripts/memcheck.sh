#!/bin/sh
# memcheck.sh FOLDER: FOLDER/run_tests and FOLDER/harness under valgrind. Every test is a process of
# its own, and fails when valgrind has something to say of it; a run, and the commands that read its
# result, may not lose memory either. Ends with "N passed, N failed".
set -u
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 CK_DEFAULT_TIMEOUT=600
passed=0 failed=0
checked() { # checked "WHAT" COMMAND...
    what=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not so: $what"
        tail -n 40 "$work/out"
    fi
}
valgrind="valgrind --quiet --error-exitcode=99 --trace-children=no"
whole="--leak-check=full --errors-for-leak-kinds=definite"
for suite in identity report records store; do
    # shellcheck disable=SC2086 # words
    checked "suite $suite" $valgrind "$folder/run_tests" $suite
done
tiny='tests/tiny.lua train.checkpoint_every=6'
# shellcheck disable=SC2086
run() { $valgrind $whole "$folder/harness" "$@"; }
# shellcheck disable=SC2086
checked 'check' run check $tiny
# shellcheck disable=SC2086
checked 'a run' run $tiny --output "$work/results" --quiet
result=$(find "$work/results" -name run.h5)
for command in verify show compare; do checked "$command" run $command "$result"; done
checked 'forward' run forward "$result" -o "$work/forward.h5"
checked 'going on' run tests/tiny.lua train.steps=14 --output "$work/results" --quiet
checked 'a study' run "$(dirname "$0")/../tests/tiny.lua" seed=1..2 --plan --output "$work/two"
checked 'a config with functions' run check tests/functions.lua
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
