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
