"""common.py: what the tests of this folder share. Each is started as

    python NAME.py PROGRAM FAULTS.so [COUNT]

from the root, with the library of faults.c, and ends with "N passed, N failed"."""

import concurrent.futures
import hashlib
import json
import os
import resource
import subprocess
import sys

import h5py

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from program import PROGRAM, WORK, Count, read_bytes  # noqa: E402
from same_run import different  # noqa: E402

FAULTS = sys.argv[2]
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 0
TIMES = ("tokens_per_second", "seconds")

checks = Count()
holds, finish = checks.holds, checks.end


def surroundings(output, fault=None, threads=1, **more):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive", **more)
    if fault or more:
        env.update(LD_PRELOAD=os.path.abspath(FAULTS), FAULT_FOLDER=output,
                   FAULT_REPORT=output + ".report")
        # An allocation that fails is the point; leaks on the way out are not.
        env["ASAN_OPTIONS"] = ("verify_asan_link_order=0:detect_leaks=0:"
                               "allocator_may_return_null=1")
    if fault:
        env["FAULT"] = fault
    return env


def start(words, output, timeout=300, limit=None, **settings):
    """The program with these words, its results below output. limit: a resource and its most."""
    def set_limit():
        resource.setrlimit(limit[0], (limit[1], limit[1]))
    return subprocess.run([PROGRAM, *words, "--output", output], text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          preexec_fn=set_limit if limit else None,
                          env=surroundings(output, **settings))


def happened(output):
    """What the fault met, once; None: the program made no such call."""
    try:
        with open(output + ".report", encoding="utf-8") as report:
            lines = report.read().splitlines()
        os.remove(output + ".report")
        return lines
    except FileNotFoundError:
        return None


def run_folder(output):
    """The folder of the only run below output; None where there is none yet."""
    for folder, _, names in os.walk(output):
        if "run.lock" in names:
            return folder
    return None


def is_whole(path):
    """Every byte as it was sealed, and every dataset readable by h5py. Gives the attributes."""
    content = read_bytes(path)
    if content[-73:] != f"\nsha256 {hashlib.sha256(content[:-73]).hexdigest()}\n".encode():
        return None
    with h5py.File(path) as file:
        def read(_, node):
            if isinstance(node, h5py.Dataset):
                node[()]
        file.visititems(read)
        found = dict(file.attrs)
        if "evaluate/step" in file and found["format"] == "posenc-run":
            found["evaluations"] = len(file["evaluate/step"])
        return found


def published(folder):
    """The files of a run by name, each whole: {name: attributes}. A broken one is counted."""
    found = {}
    for name in sorted(os.listdir(folder) if folder else []):
        if not name.endswith(".h5"):
            continue
        try:
            attributes = is_whole(os.path.join(folder, name))
        except (OSError, KeyError, RuntimeError) as error:
            attributes = None
            print(f"    {name}: {error}")
        if holds(f"{name} is whole", attributes is not None):
            found[name] = attributes
    return found


def newest(files):
    return max((int(a["step"]) for a in files.values() if a["format"] == "posenc-checkpoint"),
               default=0)


def temporaries(folder):
    return [name for name in os.listdir(folder or WORK) if name.endswith(".tmp")]


def events(folder):
    """The lines of the log; each of them whole."""
    path = os.path.join(folder, "events.jsonl") if folder else ""
    if not os.path.exists(path):
        return []
    content = read_bytes(path)
    holds("the log ends with a whole line", not content or content.endswith(b"\n"), content[-80:])
    return [json.loads(line) for line in content.splitlines()]


def story(folder):
    """The log without what a run that was stopped says more, or at another time."""
    return [{k: v for k, v in line.items() if k not in TIMES and k != "threads"}
            for line in events(folder) if line["event"] not in ("start", "resume", "done")]


def same_run(what, folder, whole):
    """Has the run in folder ended like the one that nothing happened to?"""
    names = different(os.path.join(folder, "run.h5"), os.path.join(whole, "run.h5"))
    return (holds(f"{what}: the same bits", not names, names) and
            holds(f"{what}: the same log", story(folder) == story(whole)))


def each(function, items):
    """function over the items; on all cores, unless others run beside (scripts/run_tests.sh)."""
    alone = os.environ.get("TEST_JOBS") != ""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() if alone else 1) as pool:
        for _ in pool.map(function, items):
            pass
