#!/bin/sh
# instructions.sh PROGRAM: a guard of speed that no clock disturbs. valgrind (it has no AVX-512)
# counts the instructions of a training step of tests/instructions.lua: the second one, when all
# kernels have been generated. On one thread their number repeats to a few ten thousandths, and
# libraries see valgrind's processor, not that of the machine. It may differ by TOLERANCE per cent
# from the one that tests/instructions.txt has for this compiler and these libraries; with others it
# is only shown. RENEW=1 writes it there. Ends with "N passed, N failed".
set -u
TOLERANCE=1
. tests/program.sh
record=tests/instructions.txt
export OMP_NUM_THREADS=1
built=$("$program" --version |
    sed -n -e 's/^compiler  *g\{0,1\}cc /compiler gcc /' -e 's/^\(compiler\|products\)  *//p' |
    paste -s -d , -)

# callgrind writes a file at the beginning of every step, the third when the second one is over.
second() { grep -q -s '^totals' "$work/$1.3" || over "$process"; }
count() { # count KIND KEY=VALUE: sets instructions, 0 when there was no second step
    valgrind --tool=callgrind --dump-before=train_step --callgrind-out-file="$work/$1" \
        "$program" tests/instructions.lua "$2" --output "$work/results" --quiet \
        >"$work/out" 2>"$work/err" </dev/null &
    process=$!
    wait_for second "$1"
    kill -KILL $process 2>/dev/null
    wait $process 2>/dev/null
    instructions=$(sed -n 's/^summary: //p' "$work/$1.3" 2>/dev/null)
    : "${instructions:=0}"
}
near() {
    [ $((instructions * 100)) -le $((recorded * (100 + TOLERANCE))) ] &&
        [ $((instructions * 100)) -ge $((recorded * (100 - TOLERANCE))) ]
}

for kind in rope=model.encoding=rope t5=model.encoding=t5 shaw=model.encoding=shaw \
    linear=model.attention=linear; do
    name=${kind%%=*}
    count "$name" "${kind#*=}"
    holds "$name takes a second step" [ "$instructions" -gt 0 ]
    recorded=$(awk -v name="$name" -v built="$built" \
        '$1 == name && substr($0, length($1 $2) + 3) == built { print $2 }' "$record")
    if [ "${RENEW:-}" ]; then
        awk -v name="$name" -v built="$built" -v count="$instructions" \
            '$1 != name || substr($0, length($1 $2) + 3) != built
            END { print name, count, built }' "$record" >"$work/record"
        cp "$work/record" "$record"
        echo "$name: $instructions instructions, were ${recorded:-not recorded}"
    elif [ "$recorded" ]; then
        echo "$name: $instructions instructions, recorded $recorded"
        holds "$name: within $TOLERANCE % of the record (if meant: make instructions RENEW=1)" near
    else
        echo "$name: $instructions instructions; $record knows none of $built"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
