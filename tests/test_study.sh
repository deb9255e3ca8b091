#!/bin/sh
# test_study.sh PROGRAM: studies as a user starts, stops, changes and repeats them. Ends with
# "N passed, N failed".
set -u
. tests/program.sh
results() { find "$work/$1" -name run.h5 | wc -l; }
sums() { find "$work/$1" -name run.h5 -exec cksum {} + | sort; }
# Processes of this test that work on a folder; none of them is left when their parent is gone.
# (The bracket keeps grep from finding itself.)
workers() { grep -lsa -e "$work[/]$1" /proc/[0-9]*/cmdline | sed 's|/proc/\([0-9]*\)/.*|\1|'; }
nobody() {
    for try in 1 2 3 4 5 6 7 8 9 10; do
        [ "$(workers "$1")" ] || return 0
        sleep 0.1
    done
    return 1
}
unlocked() { find "$work/$1" -name run.lock -exec flock -n {} true \; ; }
same() { # same FOLDER FOLDER: the same runs with the same bits
    [ "$(results "$1")" = "$(results "$2")" ] || return 1
    for one in "$work/$1"/*/*/run.h5; do
        .venv/bin/python tests/same_run.py "$one" "$work/$2${one#"$work/$1"}" >"$work/out" ||
            return 1
    done
}

# Six runs, of which one cannot write its log.
sweep='tests/tiny.lua model.encoding=rope,alibi,learned seed=1..2'
# shellcheck disable=SC2086 # words
start $sweep --output "$work/six" --plan
holds 'the plan has a line a run' [ "$(grep -c '"status":"new"' "$work/out")" = 6 ]
holds 'with the lengths that are not defined' \
    [ "$(grep -c '"undefined_lengths":\[{"length":32,"reason":"learned' "$work/out")" = 2 ]
holds 'and nothing is made' [ ! -e "$work/six" ]
cp "$work/out" "$work/plan"
third=$(sed -n 's/.*"index":3,"id":"\([^"]*\)".*/\1/p' "$work/plan")
mkdir -p "$work/six/tiny/$third/events.jsonl"
# shellcheck disable=SC2086
start $sweep --output "$work/six" --jobs 2
holds 'a failed run makes the exit code 1' [ "$status" = 1 ]
holds 'it is shown' says err 'run 3 failed (exit code 74): .*events.jsonl: Is a directory'
holds 'at once' [ "$(sed -n '/run 3 failed/,$p' "$work/err" | grep -c '^run [0-9]* done')" -ge 1 ]
holds 'with its log' [ -s "$work/six/tiny/$third/log.txt" ]
holds 'the others go on' [ "$(results six)" = 5 ]
sums six >"$work/before"
rmdir "$work/six/tiny/$third/events.jsonl"
# shellcheck disable=SC2086
start $sweep --output "$work/six" --json
holds 'what was complete is not run again' says err '6 runs, 5 complete, 1 to do'
holds 'what failed is tried again' grep -q '"index":3,.*"status":"done"' "$work/out"
holds 'and all is well' [ "$status" = 0 ]
sums six | grep -v "$third" >"$work/after"
holds 'the complete ones are not touched' cmp "$work/before" "$work/after"
mkdir -p "$work/fast/tiny/$third/events.jsonl"
# shellcheck disable=SC2086
start $sweep --output "$work/fast" --jobs 1 --fail-fast
holds '--fail-fast stops at the first' [ "$(results fast)" = 2 ]
holds 'with 1' [ "$status" = 1 ]

# Parts of it.
for part in 1/4 2/4 3/4 4/4; do
    # shellcheck disable=SC2086
    start $sweep --output "$work/six" --plan --shard $part
    cat "$work/out" >>"$work/parts"
done
holds 'the shards are the whole, each run once' \
    [ "$(sort "$work/parts" | sed 's/complete/new/' | cksum)" = \
    "$(sed "s|complete|new|" "$work/plan" | sort | cksum)" ]
# shellcheck disable=SC2086
start $sweep --output "$work/one" --index 5 --quiet
holds '--index runs one' [ "$(results one)" = 1 ]
holds 'the right one' [ -e "$work/one/tiny/alibi-s2-$(sed -n \
    's/.*"id":"alibi-s2-\([^"]*\)".*/\1/p' "$work/plan")/run.h5" ]
# shellcheck disable=SC2086
start $sweep --index 7
holds 'which has to exist' [ "$status" = 2 ]
# shellcheck disable=SC2086
start $sweep --output "$work/shards" --shard 2/2 --quiet
holds '--shard runs its part' [ "$(results shards)" = 3 ]
holds 'and says what ends the whole' says err "^    ./harness $sweep --output $work/shards\$"

# Stopped again and again, it ends with the same bits.
long="$sweep train.steps=200 train.checkpoint_every=20 evaluate.every=100"
# shellcheck disable=SC2086
start $long --output "$work/whole" --jobs 2 --quiet
holds 'the long study ends' [ "$status" = 0 ]
# interrupted SIGNAL FOLDER: sets stops and status, and clean when nobody was ever left over
interrupted() {
    stops=0 status=1 delay=200 clean=yes
    while [ $status != 0 ] && [ $delay -lt 60000 ]; do
        seconds=$((delay / 1000)).$(printf %03d $((delay % 1000)))
        # shellcheck disable=SC2086
        timeout --foreground --preserve-status -k 60 -s "$1" $seconds \
            "$program" $long --output "$work/$2" --jobs 2 >"$work/out" 2>"$work/err" </dev/null
        status=$?
        nobody "$2" && unlocked "$2" || clean=no
        [ $status = 0 ] || stops=$((stops + 1))
        [ $status = 0 ] || cp "$work/err" "$work/stopped.err"
        delay=$((delay * 3 / 2))
    done
}
interrupted KILL killed
holds 'it was killed' [ $stops -gt 0 ]
holds 'each time without a worker or a lock left' [ $clean = yes ]
holds 'and it ended' [ $status = 0 ]
holds 'with the same bits' same whole killed
interrupted INT stopped
holds 'it was interrupted' [ $stops -gt 0 ]
holds 'each time without a worker or a lock left' [ $clean = yes ]
holds 'it said what goes on' grep -q '^ *./harness tests/tiny.lua' "$work/stopped.err"
holds 'and it ended' [ $status = 0 ]
holds 'with the same bits' same whole stopped

# A worker that is killed, and a signal that only the parent gets.
# shellcheck disable=SC2086
"$program" $sweep train.steps=100000 --output "$work/endless" --jobs 2 >"$work/parent.out" \
    2>"$work/parent.err" </dev/null &
parent=$!
holds 'two workers start' wait_for started endless 2
cores() { # cores PROCESS...: what each may use, said once where all may use the same
    for process; do sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' "/proc/$process/status"; done |
        sort -u
}
# shellcheck disable=SC2046
holds 'no worker is bound to fewer cores than the study' \
    [ "$(cores $(workers endless))" = "$(cores $$)" ]
kill -KILL "$(workers endless | grep -vx $parent | head -n 1)"
holds 'a worker that is killed has failed' wait_for says parent.err 'failed (killed by signal 9)'
holds 'and another takes its place' wait_for started endless 3
kill -TERM $parent
finish $parent
holds 'a signal to the parent ends it with 75' [ "$status" = 75 ]
holds 'after its workers' nobody endless
holds 'saying what became of the runs' says parent.err 'stopped: 1 failed, 2 stopped, 3 left'
holds 'which wrote checkpoints' \
    [ "$(find "$work/endless" -name 'checkpoint-*' | sed 's|/[^/]*$||' | sort -u | wc -l)" -ge 2 ]

# Somebody else works on a run of it.
held() { ! flock -n "$1" true; }
take() { # take FOLDER: somebody, $owner, holds the lock of its third run
    mkdir -p "$work/$1/tiny/$third"
    flock --no-fork "$work/$1/tiny/$third/run.lock" sleep 100 &
    owner=$!
    holds 'somebody takes a run' wait_for held "$work/$1/tiny/$third/run.lock"
}
take busy
# shellcheck disable=SC2086
start $sweep --output "$work/busy"
holds 'a run of somebody else is left alone' says err 'run 3 is being worked on by'
holds 'the others are run' [ "$(results busy)" = 5 ]
holds 'and it is not all done' [ "$status" = 1 ]
kill $owner
# Workers that take their time to start: what happens to them meanwhile is no failure.
cat >"$work/slow.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void start(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        while (!strcmp(argv[i], "--worker") && access(getenv("GO"), F_OK)) usleep(10000);
}
END
"${CC:-cc}" -shared -fPIC -o "$work/slow.so" "$work/slow.c"
several() { [ "$(workers "$1" | wc -l)" -ge "$2" ]; } # several FOLDER PROCESSES
slowly() { # slowly FOLDER [N]: the sweep; its N workers are there, and get to main when $work/go is
    # shellcheck disable=SC2086
    GO="$work/go" LD_PRELOAD="$work/slow.so" "$program" $sweep --output "$work/$1" --jobs 6 \
        >"$work/out" 2>"$work/err" </dev/null &
    parent=$!
    holds 'the slow workers are there' wait_for several "$1" $((${2:-6} + 1))
}
slowly early
kill -TERM $parent
finish $parent
holds 'workers that are stopped at once have not failed' says err 'stopped: 6 stopped, 0 left'
holds 'and go on some day' [ "$status" = 75 ]
mkdir -p "$work/late/tiny/$third"
echo 'words of another process' >"$work/late/tiny/$third/log.txt"
slowly late
take late
touch "$work/go"
finish $parent
holds 'a run that somebody takes in between has not failed' \
    says err 'run 3 is being worked on by process'
holds 'nothing has' [ "$(grep -c failed "$work/err")" = 0 ]
holds 'its log stays as it is' \
    [ "$(cat "$work/late/tiny/$third/log.txt")" = 'words of another process' ]
holds 'the others are run' [ "$(results late)" = 5 ]
holds 'and it is not all done' [ "$status" = 1 ]
kill $owner
rm "$work/go"
take seen
slowly seen 5
cp "$work/six/tiny/$third/run.h5" "$work/seen/tiny/$third"
touch "$work/go"
finish $parent
holds 'a run of somebody else is told at the start' says err 'run 3 is being worked on by'
holds 'when it is complete at the end, all is done' [ "$status" = 0 ]
kill $owner

# A study file: what is not defined, learning rates, a changed definition.
cat >"$work/rates.lua" <<'END'
return study {
  base = { task = { "copy", alphabet = 4 }, model = { layers = 1, width = 16, heads = 2 },
           train = { steps = 40, length = 8, tokens = 64, warmup = 5 },
           evaluate = { lengths = { 8, 16 }, examples = 16 } },
  list = { { ["model.encoding"] = "rope", label = "turned" }, { ["model.encoding"] = "nope" } },
  grid = { ["model.heads"] = { 2, 3 } },
  rates = { 1e-6, 1e-2 },
}
END
start "$work/rates.lua" --output "$work/rates"
holds 'a study with impossible cells ends with 0' [ "$status" = 0 ]
holds 'they are told before the start' says err 'run 3 is not defined: .*heads = 3'
holds 'and at the end' says out '^not defined'
holds 'the rate is taken by the validation loss' says out '^turned, heads=2 *0.01 '
holds 'a run has the name that the study gives it' says out '^turned *1  '
holds 'the report is of the taken rate alone' [ "$(wc -l <"$work/rates/rates/summary.csv")" = 5 ]
start compare "$work/rates/rates"
holds 'compare knows the name' says out '^turned *1  '
start compare "$work/rates/rates" --by model.encoding
holds 'but names by the keys that it is given' says out '^rope *1  '
start "$work/rates.lua" --output "$work/rates"
holds 'the same study says nothing of a change' [ "$(grep -c 'not what it was' "$work/err")" = 0 ]
sed -i 's/"nope"/"alibi"/' "$work/rates.lua"
start "$work/rates.lua" --output "$work/rates"
holds 'a changed study says what changed' \
    says err '4 runs are new, 0 have other values,'
holds 'what is no longer in it' says err '"id":"nope-s1-[0-9a-f]*","cell":"model.encoding=nope'
holds 'and goes on with the rest' says err '2 complete, 2 to do'
sed -i 's/steps = 40/steps = 41/' "$work/rates.lua"
start "$work/rates.lua" --output "$work/rates" --quiet
holds 'other values of the same cells are told' says err '0 runs are new, 4 have other values,'
sed -i 's/grid/gird/' "$work/rates.lua"
start "$work/rates.lua" --output "$work/never"
holds 'mistakes end with 2' [ "$status" = 2 ]
holds 'and make nothing' [ ! -e "$work/never" ]

# Job scripts.
# shellcheck disable=SC2086
start $sweep --output "$work/jobs" --emit parallel
holds 'the script for GNU parallel is one' sh -n "$work/out"
# shellcheck disable=SC2086
start $long --output "$work/jobs" --emit slurm
cp "$work/out" "$work/job.sh"
printf '#!/bin/sh\necho "$@" >>"%s/scontrol"\n' "$work" >"$work/scontrol.sh"
mkdir "$work/bin"
mv "$work/scontrol.sh" "$work/bin/scontrol"
chmod +x "$work/bin/scontrol"
PATH="$work/bin:$PATH" SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=2 sh "$work/job.sh" \
    >"$work/out" 2>"$work/err" &
job=$!
holds 'a job starts' wait_for started jobs 1
kill -USR1 $job
finish $job
holds 'a job that runs out of time ends with 75' [ "$status" = 75 ]
holds 'and is queued again' [ "$(cat "$work/scontrol")" = 'requeue 7_2' ]
PATH="$work/bin:$PATH" SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=2 sh "$work/job.sh" \
    >"$work/out" 2>"$work/err"
holds 'then it ends' [ "$(results jobs)" = 1 ]
# The first study of docs/STUDIES.md is the one that the repository has.
sed -n '/^    -- experiments.quick.lua$/,/^$/s/^    //p' docs/STUDIES.md | sed 1d >"$work/quick.md"
sed 1d experiments/quick.lua >"$work/quick.lua"
holds 'the study in the docs is the one to run' cmp "$work/quick.md" "$work/quick.lua"
for command in 'check experiments/quick.lua' 'check experiments/quick.lua --index 2' \
    'data experiments/quick.lua --index 1' 'list experiments'; do
    # shellcheck disable=SC2086
    start $command
    holds "$command answers" [ "$status" = 0 ]
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
