# program.sh: what the tests of whole runs share; they source it with the program as $1, from the
# root. Counts in $passed and $failed, a folder of their own in $work.
# shellcheck shell=sh disable=SC2034
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

holds() { # holds "WHAT" CONDITION...
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not so: $what ($*)"
        tail -n 5 "$work/out" "$work/err" 2>/dev/null
    fi
}
start() { # start ARGUMENT...: output in $work/out and err, exit code in $status
    status=0
    "$program" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}
says() { grep -q -e "$2" "$work/$1"; }
# wait_for CONDITION...: until it holds; false when it does not within a minute
wait_for() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || return 1
        sleep 0.1
    done
}
logs() { find "$work/$1" -name events.jsonl 2>/dev/null | wc -l; }
started() { [ "$(logs "$1")" -ge "$2" ]; } # started FOLDER RUNS
over() { ! grep -q '^State:[[:blank:]]*[^Z[:blank:]]' "/proc/$1/status" 2>/dev/null; }
finish() { # finish PROCESS: its exit code in $status; it is killed after a minute
    wait_for over "$1" || kill -KILL "$1"
    status=0
    wait "$1" || status=$?
}
