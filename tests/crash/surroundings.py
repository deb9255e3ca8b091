"""surroundings.py PROGRAM FAULTS.so: what lies around a run. The order of its calls to the disk,
other processes, folders that cannot be written or vanish, few descriptors, stops, a clock that goes
back, damaged checkpoints, files of other versions, builds and CPUs."""

import hashlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

import h5py

import common
from common import holds
from program import read_bytes, write_bytes

RUN = ["tests/tiny.lua", "train.checkpoint_every=3", "--quiet"]
ENDLESS = [*RUN, "train.steps=1000000", "evaluate.every=0", "train.snapshot_every=0",
           "train.log_every=1000", "train.checkpoint_every=100"]


def said(done):
    return [line for line in done.stderr.splitlines() if not line.startswith("going on after")]


def refused(what, done, code, *words):
    """One line with these words, and the exit code."""
    holds(f"{what}: ends with {code}", done.returncode == code, (done.returncode, done.stderr))
    line = said(done)[0] if len(said(done)) == 1 else ""
    holds(f"{what}: one line says so", all(word in line for word in words), done.stderr)


def wait_for(condition, process):
    while process.poll() is None and not condition():
        time.sleep(0.02)


def background(words, output, **more):
    return subprocess.Popen([common.PROGRAM, *words, "--output", output], text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, env=common.surroundings(output), **more)


def checkpoints(output):
    folder = common.run_folder(output)
    names = [n for n in os.listdir(folder) if re.fullmatch(r"checkpoint-\d+\.h5", n)] \
        if folder else []
    return sorted((os.path.join(folder, n) for n in names),
                  key=lambda name: -int(re.search(r"-(\d+)\.h5", name)[1]))


def work(name, halfway=None):
    output = os.path.join(common.WORK, name)
    if halfway:
        shutil.copytree(halfway, output)
    return output


# ---- the order of calls ----------------------------------------------------------------------


def calls(trace):
    """(name, path) of each call, in order. strace -y writes the path of a descriptor behind it."""
    for line in trace:
        found = re.search(r"(\w+)\((.*)\) = (-?\d+)(<.*>)?", line)
        if not found or int(found[3]) < 0:
            continue
        name, arguments = found[1], found[2]
        if name == "openat":
            yield name, found[4].strip("<>")
        elif name.startswith("rename"):
            yield "rename", re.findall(r'"([^"]*)"', arguments)
        else:
            yield name, re.search(r"<(.*?)>", arguments)[1]


def publication(after, folder, target):
    """The calls that publish a file, from the first to the last that is needed."""
    temporary = target + ".tmp"
    expected = [("openat", temporary), ("write", temporary), ("fsync", temporary),
                ("close", temporary), ("rename", [temporary, target]), ("openat", folder),
                ("fsync", folder)]
    return after[:len(expected)] == expected


def order(whole):
    output = work("traced")
    log = os.path.join(common.WORK, "trace")
    try:
        done = subprocess.run(["strace", "-f", "-y", "-o", log, "-e",
                               "trace=openat,write,fsync,fdatasync,close,rename,renameat,renameat2",
                               common.PROGRAM, *RUN, "--output", output], text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              env=common.surroundings(output))
    except FileNotFoundError:
        print("SKIPPED: the order of calls, because there is no strace")
        return
    if done.returncode and "ptrace" in done.stderr:
        print("SKIPPED: the order of calls, because strace may not trace:", done.stderr.strip())
        return
    holds("the traced run ends", done.returncode == 0, done.stderr)
    folder = common.run_folder(output)
    with open(log, encoding="utf-8", errors="replace") as trace:
        seen = [(name, path) for name, path in calls(trace) if output in str(path)]
    opened = [i for i, (name, path) in enumerate(seen)
              if name == "openat" and path.endswith(".tmp")]
    holds("files are published", len(opened) >= 4, seen)
    synced = False
    for i in opened:
        target = seen[i][1].removesuffix(".tmp")
        holds(f"{os.path.basename(target)}: write, fsync, close, rename, fsync of the folder",
              publication(seen[i:], folder, target), seen[i:i + 8])
        if "checkpoint" in target:
            last = [name for name, path in seen[:i] if str(path).endswith("events.jsonl")][-1]
            synced = holds("the log is synced before a checkpoint counts on it",
                           last == "fdatasync", last)
    holds("there was a checkpoint", synced)
    new = os.path.dirname(os.path.dirname(folder))
    holds("a new folder is synced in the one above", ("fsync", new) in seen and
          ("fsync", os.path.dirname(folder)) in seen, seen[:12])
    common.same_run("traced", folder, whole)


# ---- other processes -------------------------------------------------------------------------


def owners():
    output = work("owned")
    owner = background(ENDLESS, output)
    wait_for(lambda: checkpoints(output), owner)
    owner.send_signal(signal.SIGSTOP)
    refused("a second process", common.start(ENDLESS, output), 1,
            f"process {owner.pid} on {socket.gethostname()}")
    owner.kill()
    owner.wait()
    # Free at once: this one is stopped by us, and not by the lock.
    second = background(ENDLESS, output)
    lock = os.path.join(common.run_folder(output), "run.lock")
    wait_for(lambda: read_bytes(lock).split()[1:] == [str(second.pid).encode()], second)
    holds("the lock of one that was killed is free", second.poll() is None, second)
    second.terminate()
    holds("and the run goes on", second.wait() == 75, second.stderr.read())
    shutil.rmtree(output)


def stopped_and_continued(whole):
    output = work("paused")
    process = background(RUN, output)
    for _ in range(6):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.01)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.01)
    holds("stopped and continued: it ends", process.wait() == 0, process.stderr.read())
    common.same_run("stopped and continued", common.run_folder(output), whole)


def clock_goes_back(halfway, whole):
    output = work("clock", halfway)
    for age, path in enumerate(checkpoints(output)):
        os.utime(path, (10**9 + age * 86400, 10**9 + age * 86400))  # the newest is the oldest
    done = common.start(RUN, output, FAULT_CLOCK="1")
    holds("a clock that goes back: it ends", done.returncode == 0, done.stderr)
    common.same_run("a clock that goes back", common.run_folder(output), whole)


# ---- folders and descriptors -----------------------------------------------------------------


def read_only(halfway, whole):
    """A mount that is read-only: root may write anywhere else."""
    for name, source, code in (("halfway", halfway, 74), ("complete", whole, 0)):
        output = work(f"read-only-{name}", halfway if name == "halfway" else
                      os.path.join(common.WORK, "whole"))
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c",
             'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99\n'
             'out=$1; shift; exec "$@" --output "$out"', "sh", output, common.PROGRAM, *RUN],
            text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False,
            env=common.surroundings(output))
        if done.returncode == 99 or done.stderr.startswith("unshare"):
            print("SKIPPED: a read-only folder, because nothing can be mounted here:",
                  done.stderr.strip())
            return
        refused(f"read-only, {name}", done, code,
                "Read-only file system" if code else "is complete")
        if code:
            done = common.start(RUN, output)
            holds("writable again, it goes on", done.returncode == 0, done.stderr)
            common.same_run("read-only", common.run_folder(output), whole)


def vanishing():
    output = work("vanishing")
    process = background(ENDLESS, output)
    wait_for(lambda: checkpoints(output), process)
    os.rename(output, output + ".gone")
    shutil.rmtree(output + ".gone", ignore_errors=True)
    code, words = process.wait(), process.stderr.read()
    holds("a folder that vanishes: ends with 74", code == 74, (code, words))
    holds("a folder that vanishes: one line says so", words.count("\n") == 1 and output in words and
          "No such file or directory" in words, words)


def few_descriptors(halfway, whole):
    ended = {}
    for limit in (8, 7, 6, 5, 4):
        what = f"{limit} descriptors"
        output = work(f"few{limit}", halfway)
        done = common.start(RUN, output, limit=(resource.RLIMIT_NOFILE, limit))
        ended[limit] = done.returncode
        if done.returncode:
            refused(what, done, done.returncode, "Too many open files")
        common.published(common.run_folder(output))
        done = common.start(RUN, output)
        holds(f"{what}: then it goes on", done.returncode == 0, done.stderr)
        common.same_run(what, common.run_folder(output), whole)
    holds("eight are enough", ended[8] == 0, ended)
    holds("four are not", ended[4] in (1, 2, 70, 74), ended)  # 2: not even the config


# ---- files that are not as they were -----------------------------------------------------------


def damaged_checkpoints(halfway, whole):
    newest, older = checkpoints(halfway)
    data = read_bytes(newest)
    changes = [(f"cut to {size} bytes", data[:size])
               for size in (0, 7, 100, len(data) // 2, len(data) - 73, len(data) - 1)]
    for at in (0, 12, len(data) // 3, len(data) - 60, len(data) - 1):
        changes.append((f"byte {at} flipped", data[:at] + bytes([data[at] ^ 16]) + data[at + 1:]))
    changes.append(("with more behind it", data + b"more"))
    for number, (what, changed) in enumerate(changes):
        output = work(f"damaged{number}", halfway)
        write_bytes(checkpoints(output)[0], changed)
        done = common.start(RUN, output)
        holds(f"a checkpoint {what}: the older one is used", done.returncode == 0 and
              "is not used" in done.stderr and "going on after step 3 of 12" in done.stderr,
              (done.returncode, done.stderr))
        common.same_run(f"a checkpoint {what}", common.run_folder(output), whole)
        shutil.rmtree(output)

    output = work("all damaged", halfway)
    for path in checkpoints(output):
        write_bytes(path, read_bytes(path)[:-1])
    before = {path: read_bytes(path) for path in checkpoints(output)}
    log = os.path.join(common.run_folder(output), "events.jsonl")
    before[log] = read_bytes(log)
    done = common.start(RUN, output)
    holds("no checkpoint that can be used: ends with 1", done.returncode == 1, done.stderr)
    holds("no checkpoint that can be used: is said", "none of its checkpoints can be used" in
          done.stderr, done.stderr)
    holds("no checkpoint that can be used: nothing is touched",
          all(read_bytes(path) == data for path, data in before.items()))
    done = common.start([*RUN, "--fresh"], output)
    holds("no checkpoint that can be used: --fresh starts again", done.returncode == 0, done.stderr)
    common.same_run("--fresh", common.run_folder(output), whole)


def change(path, **attributes):
    """As another program version, build or CPU would have written it: sealed again."""
    with h5py.File(path, "r+") as file:
        for name, value in attributes.items():
            file.attrs[name] = value
    data = read_bytes(path)
    write_bytes(path, data + f"\nsha256 {hashlib.sha256(data).hexdigest()}\n".encode())


def other_versions(halfway, whole):
    output = work("version", os.path.join(common.WORK, "whole"))
    result = os.path.join(common.run_folder(output), "run.h5")
    change(result, format_version="2.0")
    before = read_bytes(result)
    words = "is of version 2.0 of the format"
    refused("a result of version 2", common.start(RUN, output), 1, result, words, "--fresh")
    for command in (["verify", result], ["show", result], ["forward", result],
                    ["tests/tiny.lua", "seed=2", f"train.init_from={result}"]):
        done = subprocess.run([common.PROGRAM, *command], text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              env=common.surroundings(output), cwd=os.getcwd())
        holds(f"{command[0]} of version 2 is refused", done.returncode in (1, 2) and
              words in done.stderr, (done.returncode, done.stderr))
    done = common.start(["compare", result, os.path.join(whole, "run.h5")], output)
    holds("compare leaves version 2 out and says so", done.returncode == 1 and
          words in done.stderr, (done.returncode, done.stderr))
    holds("a result of version 2 is not touched", read_bytes(result) == before)
    done = common.start([*RUN, "--fresh"], output)
    holds("a result of version 2: --fresh replaces it", done.returncode == 0, done.stderr)
    common.same_run("replaced", common.run_folder(output), whole)

    output = work("checkpoint version", halfway)
    change(checkpoints(output)[0], format_version="2.0")
    done = common.start(RUN, output)
    holds("a checkpoint of version 2 is not used", "is posenc-checkpoint 2.0 and not "
          "posenc-checkpoint 1.0" in done.stderr, done.stderr)
    common.same_run("a checkpoint of version 2", common.run_folder(output), whole)


def other_builds(halfway):
    for name, what, attributes in (
            ("build", "by another build", {"binary_sha256": "0" * 64}),
            ("cpu", "on another CPU", {"cpu": "A CPU of 1969"}),
            ("both", "by another build and on another CPU",
             {"binary_sha256": "0" * 64, "cpu": "A CPU of 1969"})):
        output = work(f"other {name}", halfway)
        change(checkpoints(output)[0], **attributes)
        # Stopped once more: the next checkpoint is of this build, and still counts the move.
        common.start(RUN, output, fault="rename:1:after")
        common.happened(output)
        done = common.start(RUN, output)
        holds(f"other {name}: it goes on", done.returncode == 0, done.stderr)
        result = common.is_whole(os.path.join(common.run_folder(output), "run.h5"))
        holds(f"other {name}: the result counts it", result["moves"] == 1, result["moves"])

        output = work(f"other {name}, told", halfway)
        change(checkpoints(output)[0], **attributes)
        done = common.start(RUN, output)
        holds(f"other {name}: it is said", f"was written {what}: the run goes on" in done.stderr,
              done.stderr)
        result = os.path.join(common.run_folder(output), "run.h5")
        done = common.start(["show", result], output)
        holds(f"other {name}: show says it", "with another build or on another CPU" in done.stdout,
              done.stdout[:600])


def mixed_results(whole):
    output = work("mixed", os.path.join(common.WORK, "whole"))
    second = os.path.join(common.run_folder(output), "run.h5")
    change(second, seed=2, config_sha256="1" * 64, binary_sha256="0" * 64)
    done = common.start(["compare", os.path.join(whole, "run.h5"), second], output)
    holds("compare tells results of two builds", "2 builds" in done.stdout + done.stderr,
          done.stdout + done.stderr)


def main():
    done = common.start(RUN, work("whole"))
    holds("the run ends", done.returncode == 0, done.stderr)
    whole = common.run_folder(work("whole"))
    halfway = work("halfway")
    common.start(RUN, halfway, fault="rename:3:after")
    common.happened(halfway)
    order(whole)
    owners()
    stopped_and_continued(whole)
    clock_goes_back(halfway, whole)
    read_only(halfway, whole)
    vanishing()
    few_descriptors(halfway, whole)
    damaged_checkpoints(halfway, whole)
    other_versions(halfway, whole)
    other_builds(halfway)
    mixed_results(whole)
    common.finish()


main()
