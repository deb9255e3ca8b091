#!/bin/sh
# run_tests.sh COMMAND...: runs every test command, however the ones before went, and ends with one
# count over all of them. A command counts by the last line that it prints of the form "N passed,
# N failed" or Check's "Checks: N, Failures: N, Errors: N"; one that ends badly without counting a
# failure counts as one.
set -u
# Threads that wait sleep: on a busy machine, threads that spin starve each other.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT
passed=0 failed=0
for command; do
    echo "== $command"
    {
        sh -c "$command" 2>&1 </dev/null
        echo $? >"$log.status"
    } | tee "$log"
    # shellcheck disable=SC2046 # two numbers
    set -f -- $(sed -n \
        -e 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' \
        -e 's/.*Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' \
        "$log" | tail -n 1)
    case $# in
    2) good=$1 bad=$2 ;;
    3) bad=$(($2 + $3)) good=$(($1 - $2 - $3)) ;;
    *) good=0 bad=1 ;;
    esac
    [ "$(cat "$log.status")" = 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + good)) failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
