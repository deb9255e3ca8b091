#!/bin/sh
# fuzz.sh FOLDER NAME SECONDS: runs FOLDER/fuzz_NAME, a program of libFuzzer, for that long. It
# starts from tests/fuzz/NAME (configs: from those of the project), and what leads to new code goes
# to FOLDER/corpus/NAME. An input that breaks something is left in FOLDER/NAME-*. Ends with
# "1 passed, 0 failed".
set -u
corpus=$1/corpus/$2
mkdir -p "$corpus"
if [ "$2" = config ]; then
    cp tests/tiny.lua tests/functions.lua "$corpus"
    set -- "$1" "$2" "$3" "$corpus" configs experiments
else
    set -- "$1" "$2" "$3" "$corpus" "tests/fuzz/$2"
fi
folder=$1 name=$2 seconds=$3
shift 3
dictionary=tests/fuzz/$name.dict
[ -e "$dictionary" ] && set -- "-dict=$dictionary" "$@"
# A config that takes a second is refused then, and one that does not come back ends the process.
status=0
OMP_NUM_THREADS=1 "$folder/fuzz_$name" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 \
    -max_len=4096 -seed=1 -print_final_stats=1 -verbosity=1 -artifact_prefix="$folder/$name-" "$@" \
    >"$folder/$name.log" 2>&1 || status=$?
grep -e '^stat::' -e '^Done' "$folder/$name.log"
if [ "$status" = 0 ]; then
    echo '1 passed, 0 failed'
else
    tail -n 40 "$folder/$name.log"
    echo '0 passed, 1 failed'
fi
exit "$status"
