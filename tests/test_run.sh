#!/bin/sh
# test_run.sh PROGRAM: whole runs as a user starts, stops and repeats them: exit codes, messages,
# files. Ends with "N passed, N failed".
set -u
. tests/program.sh
result() { find "$work/$1" -name run.h5; }
same() { .venv/bin/python tests/same_run.py "$(result "$1")" "$(result "$2")" >"$work/out"; }

start tests/resume.lua --output "$work/whole"
holds 'a run ends with 0' [ "$status" = 0 ]
holds 'it prints accuracy by length' says out '^ *24\*'
holds 'and what is not defined' says out 'not defined: learned has 24 positions'
holds 'and where the result is' says out 'whole/resume/learned-s1-[0-9a-f]*/run.h5'
holds 'no checkpoint is left behind' [ -z "$(find "$work/whole" -name 'checkpoint-*')" ]
holds 'no temporary file either' [ -z "$(find "$work/whole" -name '*.tmp')" ]
folder=$(dirname "$(result whole)")
before=$(cksum <"$folder/run.h5")
start tests/resume.lua --output "$work/whole"
holds 'a complete run says so' says err 'is complete'
holds 'with exit code 0' [ "$status" = 0 ]
holds 'and is not touched' [ "$before" = "$(cksum <"$folder/run.h5")" ]
holds 'its log has a line a logged step' \
    [ "$(grep -c '"event":"step"' "$folder/events.jsonl")" = 7 ]
start verify "$folder/run.h5"
holds 'verify finds it whole' [ "$status" = 0 ]
start show "$folder/run.h5"
holds 'show names its encoding' says out 'learned'
start compare "$work/whole"
holds 'compare finds it in the folder' [ "$status" = 0 ]
holds 'and says that one seed is one seed' says out 'learned has a single seed, n=1'
start compare "$folder/run.h5" --by model.encodin
holds 'compare knows no such key' [ "$status" = 2 ]
holds 'and says so' says err 'none of the results has the key "model.encodin"'
start compare "$folder/run.h5" "$work/out" --csv
holds 'a file that is no result fails it' [ "$status" = 1 ]
holds 'and is named' says err 'out: is not an HDF5 file'
holds 'the others are compared' says out '^copy,learned,sequence_accuracy,at_length,8,1,'
start forward "$folder/run.h5" -o "$work/forward.h5" --length 12
holds 'forward runs its weights' [ "$status" = 0 ]
start forward "$folder/run.h5" -o "$work/no.h5" --length 48
holds 'not past what the encoding defines' says err 'learned has 24 positions'
holds 'and writes nothing then' [ ! -e "$work/no.h5" ]

start selftest
holds 'selftest names every encoding' says out '^stick_breaking  *[0-9]* cases  ok'
holds 'and finds them right' [ "$status" = 0 ]

# Training goes on at a longer length from its weights.
more="train.stages.2.length=32 model.encoding.past_end=interpolate"
# shellcheck disable=SC2086 # words
start tests/resume.lua train.init_from="$folder/run.h5" $more --output "$work/further" --quiet
holds 'a run starts from the weights of another' [ "$status" = 0 ]
start verify "$(result further)"
holds 'and is a result like others' [ "$status" = 0 ]
start forward "$(result further)" -o "$work/forward.h5" --length 32
holds 'forward runs it' [ "$status" = 0 ]
start tests/resume.lua train.init_from="$folder/run.h5" model.width=32 --output "$work/wide"
holds 'weights of another shape do not fit' [ "$status" = 2 ]
holds 'which is said' says err 'its embedding is \[9, 16\], that of this model \[9, 32\]'
holds 'where the file was given' says err '^harness: command line: train.init_from: '
holds 'before anything is written' [ ! -e "$work/wide" ]
start tests/resume.lua train.init_from=tests/tiny.lua --output "$work/wide"
holds 'a text holds no weights' [ "$status" = 2 ]
holds 'and is named' says err 'tests/tiny.lua: is not an HDF5 file'

for threads in 1 3; do
    start tests/resume.lua --output "$work/threads$threads" --threads $threads --quiet
    holds "$threads threads: the same bits" same whole "threads$threads"
done

# Stopped by signals and killed again and again; each time it may work a little longer, so that a
# slow machine ends too and a fast one is stopped at all.
slow='train.stages.1.steps=400 train.stages.2.steps=400 train.checkpoint_every=40'
slow="$slow evaluate.every=100 --threads 1"
# shellcheck disable=SC2086 # words
start tests/resume.lua $slow --output "$work/long" --quiet
holds 'the long run ends' [ "$status" = 0 ]
# interrupted SIGNAL FOLDER: sets stops and status
interrupted() {
    stops=0 status=1 delay=100
    while [ $status != 0 ] && [ $delay -lt 60000 ]; do
        # shellcheck disable=SC2086
        timeout --preserve-status -k 60 -s "$1" $((delay / 1000)).$(printf %03d $((delay % 1000))) \
            "$program" tests/resume.lua $slow --output "$2" >"$work/out" 2>"$work/err" </dev/null
        status=$?
        [ $status = 0 ] || stops=$((stops + 1))
        delay=$((delay * 5 / 4))
    done
}
interrupted TERM "$work/stopped"
holds 'it was stopped and went on' [ $stops -gt 0 ]
holds 'and ended' [ $status = 0 ]
holds 'with the same bits as the run in one go' same long stopped
interrupted KILL "$work/killed"
holds 'killed, it ends too' [ $status = 0 ]
holds 'with the same bits' same long killed
events() { grep -v -e '"resume"' "$(dirname "$(result "$1")")/events.jsonl" |
    sed 's/"tokens_per_second":[^,}]*//; s/"seconds":[^,}]*//'; }
events long >"$work/events.long"
events killed >"$work/events.killed"
holds 'and the same log' cmp "$work/events.long" "$work/events.killed"

# One owner at a time.
endless='seed=7 train.stages.1.steps=100000 --quiet'
# shellcheck disable=SC2086
"$program" tests/resume.lua $endless --output "$work/owned" >/dev/null 2>&1 &
owner=$!
holds 'a run starts' wait_for started owned 1
# shellcheck disable=SC2086
start tests/resume.lua $endless --output "$work/owned"
holds 'a second process is refused with 1' [ "$status" = 1 ]
holds 'and told who works on it' says err "process $owner on "
kill -TERM $owner # not INT, which a child behind sh's & is to ignore
finish $owner
holds 'a signal ends the owner with 75' [ "$status" = 75 ]
"$program" tests/resume.lua seed=8 train.stages.1.steps=100000 --fresh --output "$work/fresh" \
    >"$work/out" 2>"$work/err" </dev/null &
owner=$!
holds 'a run starts anew' wait_for started fresh 1
kill -TERM $owner
finish $owner
holds 'the command that goes on is printed' says err '^ *./harness tests/resume.lua seed=8'
holds 'without --fresh' [ "$(grep -c -- --fresh "$work/err")" = 0 ]

# Functions of a config: stopped and gone on with, read again from the result, and failing.
start tests/functions.lua --output "$work/functions" --threads 2 --quiet
holds 'a run with functions ends' [ "$status" = 0 ]
sed 's/-- fault/if rng:below(500) == 0 then error("late") end/' tests/functions.lua \
    >"$work/functions.lua"
start "$work/functions.lua" --output "$work/faulty" --quiet
holds 'a fault in one ends the run with 1' [ "$status" = 1 ]
holds 'it says where' \
    says err 'step [0-9]*, item [0-9]*: .*functions.lua:12: task.generate: length [0-9]*: late'
holds 'the log says it too' grep -q '"failed".*late' "$(find "$work/faulty" -name events.jsonl)"
holds 'and a checkpoint is left' [ -n "$(find "$work/faulty" -name 'checkpoint-*.h5')" ]
"$program" tests/functions.lua --output "$work/broken" --quiet \
    >"$work/out" 2>"$work/err" </dev/null &
broken=$!
while [ -z "$(find "$work/broken" -name 'checkpoint-*.h5' 2>/dev/null)" ] &&
    kill -0 $broken 2>/dev/null; do :; done
kill -9 $broken 2>/dev/null
wait $broken 2>/dev/null
start tests/functions.lua --output "$work/broken" --quiet
holds 'killed and gone on with: the same bits' same functions broken
start forward "$(result functions)" -o "$work/functions.h5" --length 16
holds 'forward reads the functions from the result' [ "$status" = 0 ]
start forward "$(result functions)" -o "$work/functions.h5" --length 24
holds 'at its own lengths' says err 'evaluate.lengths=24 adds it'
start forward "$(result functions)" -o "$work/functions.h5" --length 24 evaluate.lengths=24
holds 'or at those that are asked for' [ "$status" = 0 ]

# Mistakes write nothing.
start tests/resume.lua model.head=3 model.width=15 --output "$work/never"
holds 'mistakes end with 2' [ "$status" = 2 ]
holds 'every one is told' [ "$(grep -c . "$work/err")" = 2 ]
holds 'with the nearest key' says err 'did you mean model.heads'
holds 'and nothing is made' [ ! -e "$work/never" ]
start nonsense
holds 'an unknown command ends with 2' [ "$status" = 2 ]
start tests/resume.lua --frsh
holds 'so does an unknown option' [ "$status" = 2 ]
start verify tests/resume.lua
holds 'verify of another file ends with 1' [ "$status" = 1 ]
printf x >"$work/file"
start tests/resume.lua --output "$work/file/below"
holds 'an output folder that cannot be made ends with 74' [ "$status" = 74 ]
(
    ulimit -f 8
    "$program" tests/resume.lua --output "$work/full" --quiet >"$work/out" 2>"$work/err" </dev/null
)
holds 'a full disk ends with 74' [ $? = 74 ]
holds 'in one line that names the file' says err 'File too large'
holds 'and leaves no temporary file' [ -z "$(find "$work/full" -name '*.tmp')" ]

# 8 sequences of 2048 tokens in blocks of 128; 4 heads each, 4 layers and the embedding or the head
start bench --plan bench/rope_2k.lua --threads 1
holds 'bench --plan counts the row blocks' says out 'row blocks  *128  *9$'
holds 'and those of backward' says out 'row blocks, backward  *128  *9$'
holds 'and the heads' says out 'heads, attention backward  *32  *4$'
# few heads: query blocks of 64 rows, in backward at least 32 tasks
start bench --plan bench/rope_2k.lua train.batch=1 --threads 16
holds 'few heads are cut' says out 'query blocks, attention forward  *128  *4$'
holds 'in backward, too' says out 'groups of query blocks, attention backward  *32  *4$'
start bench --plan bench/d64_t128.lua --threads 2
holds 'short sequences are tasks' says out 'sequences, forward and backward  *64  *1$'

for command in 'check configs/rope_2k.lua' list 'list encodings rope' 'list tasks recall' help \
    'data configs/rope_2k.lua -n 1' --version; do
    # shellcheck disable=SC2086
    start $command
    holds "$command answers" [ "$status" = 0 ]
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
