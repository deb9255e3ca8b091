#!/bin/sh
# test_learning.sh PROGRAM: trains the shipped configs from scratch and holds the last accuracy at
# a length to what the config promises. Minutes. Ends with "N passed, N failed".
set -u
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# learns CONFIG LENGTH ACCURACY SECONDS
learns() {
    start=$(date +%s)
    "$program" "$1" --output "$work/results" --fresh --quiet >"$work/out" 2>&1
    status=$?
    seconds=$(($(date +%s) - start))
    if [ $status = 0 ] && .venv/bin/python tests/accuracy.py \
        "$(find "$work/results" -name run.h5)" "$2" "$3" && [ $seconds -le "$4" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        cat "$work/out"
        echo "not so: $1 reaches $3 at $2 tokens within $4 s (exit $status after $seconds s)"
    fi
    rm -rf "$work/results"
}
learns configs/quickstart.lua 32 0.99 60
learns configs/copy_64.lua 64 0.99 180
learns configs/rope_2k.lua 2048 0.99 600
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
