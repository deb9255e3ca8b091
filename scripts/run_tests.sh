#!/bin/sh
# run_tests.sh COMMAND...: runs every test command, one a core side by side (TEST_JOBS says
# otherwise), however the others went, and ends with one count over all of them. What a command
# prints is shown when it ends. It counts by the last line that it prints of the form "N passed,
# N failed" or Check's "Checks: N, Failures: N, Errors: N"; one that ends badly without counting a
# failure counts as one.
set -u
# Threads that wait sleep: on a busy machine, threads that spin starve each other.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
jobs=${TEST_JOBS:-$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)}
logs=$(mktemp -d)
export logs
trap 'rm -rf "$logs"' EXIT
trap 'exit 1' INT TERM

for command; do printf '%s\0' "$command"; done |
    TEST_JOBS='' xargs -0 -P "$jobs" -I '{}' sh -c '
        log=$(mktemp "$logs/XXXXXX")
        sh -c "$1" >"$log" 2>&1 </dev/null
        echo $? >"$log.status"
        { echo "== $1"; cat "$log"; } >"$log.shown"
        cat "$log.shown"' sh '{}'

passed=0 failed=$# # until they have run
for status in "$logs"/*.status; do
    [ -e "$status" ] || continue
    failed=$((failed - 1))
    # shellcheck disable=SC2046 # two numbers
    set -f -- $(sed -n \
        -e 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' \
        -e 's/.*Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' \
        "${status%.status}" | tail -n 1)
    case $# in
    2) good=$1 bad=$2 ;;
    3) bad=$(($2 + $3)) good=$(($1 - $2 - $3)) ;;
    *) good=0 bad=1 ;;
    esac
    [ "$(cat "$status")" = 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + good)) failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
