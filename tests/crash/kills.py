"""kills.py PROGRAM FAULTS.so COUNT: runs that are killed (SIGKILL) COUNT times, half of them at a
random moment and half at a point next to a write, fsync or rename, and started again each time.
After every kill: each published file is whole, no generation went back, the next start repeats at
most one interval between checkpoints. At the end: the bits of a run that nothing happened to."""

import os
import random
import shutil
import signal
import subprocess
import time

import common
from common import holds

EVERY = 4  # steps between checkpoints
RUN = ["tests/resume.lua", "train.stages.1.steps=30", "train.stages.2.steps=40",
       f"train.checkpoint_every={EVERY}", "train.log_every=1", "evaluate.every=10", "--quiet"]
POINTS = ["write:after", "fsync:before", "fsync:after", "close:after", "rename:before",
          "rename:after", "fdatasync:before", "unlink:before", "ftruncate:after", "open:after",
          "pwrite:before", "mkdir:after"]
FIRST = {"ftruncate", "pwrite", "mkdir", "flock"}  # calls that a start makes once or twice

chance = random.Random(1)
met = dict.fromkeys(POINTS + ["random moment"], 0)


def life(output, duration):
    """One start, killed on the way or not. Gives the exit code and how it was to be killed."""
    threads = chance.choice((1, 2))
    if sum(met.values()) % 2:
        how = min(POINTS, key=met.get)
        call, when = how.split(":")
        number = chance.randint(1, 2 if call in FIRST else 24)
        done = common.start(RUN, output, fault=f"{call}:{number}:{when}", threads=threads)
        common.happened(output)
        return done.returncode, how, done.stderr
    process = subprocess.Popen([common.PROGRAM, *RUN, "--output", output], text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE,
                               env=common.surroundings(output, threads=threads))
    time.sleep(chance.uniform(0, duration))
    process.send_signal(signal.SIGKILL)
    return process.wait(), "random moment", process.stderr.read()


def reached(log):
    """The last step in the log, which a start cuts to what its checkpoint covers."""
    return max((line["step"] for line in log if line["event"] == "step"), default=0)


def look(folder, before, log_before):
    """The state of a run after a kill, held against the one before."""
    files = common.published(folder)
    log = common.events(folder)
    result = files.get("run.h5", {})
    holds("no checkpoint is lost", common.newest(files) >= before["newest"] or
          result.get("completed"), (before, list(files)))
    holds("no evaluation is lost", result.get("evaluations", 0) >= before["evaluations"])
    holds("no finished run is lost", result.get("completed", False) >= before["completed"])
    holds("at most one interval is repeated", reached(log) >= reached(log_before) - EVERY,
          (reached(log), reached(log_before)))
    return {"newest": common.newest(files), "evaluations": result.get("evaluations", 0),
            "completed": bool(result.get("completed", False))}, log


def killed_again_and_again(number, whole, duration):
    """One run until it ends."""
    output = os.path.join(common.WORK, f"run{number}")
    before, log = {"newest": 0, "evaluations": 0, "completed": False}, []
    kills = 0
    while sum(met.values()) < common.COUNT:
        code, how, said = life(output, duration)
        # What reads a result in a child: the run leaves the file as it is, and ends.
        if code == 1 and "the reader was killed" in said:
            code = -signal.SIGKILL
        if code != -signal.SIGKILL:
            holds("what is not killed ends with 0", code == 0, f"{code} {how}: {said}")
            break
        met[how] += 1
        kills += 1
        before, log = look(common.run_folder(output), before, log)
    # Also where it is complete: killed between the result and the tidying, the next start tidies.
    common.start(RUN, output)
    folder = common.run_folder(output)
    common.same_run(f"after {kills} kills", folder, whole)
    holds("nothing else is left", sorted(os.listdir(folder)) ==
          ["events.jsonl", "run.h5", "run.lock"], os.listdir(folder))
    shutil.rmtree(output)


def main():
    output = os.path.join(common.WORK, "whole")
    started = time.monotonic()
    done = common.start(RUN, output)
    duration = time.monotonic() - started
    holds("the run ends when nobody kills it", done.returncode == 0, done.stderr)
    whole = common.run_folder(output)
    runs = 0
    while sum(met.values()) < common.COUNT and not common.checks.failed:
        killed_again_and_again(runs, whole, duration)
        runs += 1
    common.finish(f"{sum(met.values())} kills of {runs} runs: " +
                  ", ".join(f"{how} {count}" for how, count in met.items()))


main()
