#!/bin/sh
# test_learning.sh PROGRAM: trains the shipped configs from scratch and holds the last accuracy at
# a length to what the config promises. Minutes. Ends with "N passed, N failed".
set -u
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# learns CONFIG LENGTH ACCURACY SECONDS [KEY=VALUE...]
learns() {
    config=$1 length=$2 accuracy=$3 limit=$4
    shift 4
    start=$(date +%s)
    "$program" "$config" "$@" --output "$work/results" --fresh --quiet >"$work/out" 2>&1
    status=$?
    seconds=$(($(date +%s) - start))
    if [ $status = 0 ] && .venv/bin/python tests/accuracy.py \
        "$(find "$work/results" -name run.h5)" "$length" "$accuracy" &&
        [ $seconds -le "$limit" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        cat "$work/out"
        echo "not so: $config $* reaches $accuracy at $length tokens within $limit s" \
            "(exit $status after $seconds s)"
    fi
    rm -rf "$work/results"
}
learns configs/quickstart.lua 32 0.99 60
learns configs/copy_64.lua 64 0.99 180
learns configs/mlm.lua 64 0.99 180
learns configs/linear_rope.lua 32 0.99 180
learns configs/custom_bias.lua 32 0.99 120
learns configs/rope_2k.lua 2048 0.99 600
# Every encoding copies: docs/ENCODINGS.md has the table.
for encoding in $("$program" list encodings | sed -n 's/^\([a-z0-9_]*\) .*/\1/p'); do
    set -- model.encoding="$encoding" model.init=unit
    case $encoding in
    custom) continue ;; # configs/custom_bias.lua
    nope) set -- "$@" model.layers=3 train.steps=2000 ;;
    sinusoidal) set -- "$@" model.encoding.scale=1 ;;
    hard_alibi) set -- "$@" model.encoding.masked=3 ;;
    fox) set -- "$@" model.encoding.bias=5 ;;
    tupe) set -- "$@" train.steps=2000 ;;
    esac
    learns configs/quickstart.lua 32 0.99 120 "$@"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
