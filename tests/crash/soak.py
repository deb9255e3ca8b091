"""soak.py PROGRAM FAULTS.so STEPS: a small model trains for STEPS steps, with evaluations,
snapshots and checkpoints on the way. From a tenth of the way on its resident memory grows by less
than 1 MiB, and it holds as many descriptors as before. Building a file takes memory for a moment,
so medians are compared: of the second tenth, and of the last."""

import json
import os
import statistics
import subprocess

import common
from common import holds

STEPS = common.COUNT
LIMIT = 1 << 20  # bytes
RUN = ["tests/tiny.lua", f"train.steps={STEPS}", "train.log_every=100",
       f"train.checkpoint_every={STEPS // 100}", f"evaluate.every={STEPS // 20}",
       f"train.snapshot_every={STEPS // 20}", "--json"]


def look(process):
    """Resident bytes and what each descriptor is of; None when it has gone."""
    try:
        with open(f"/proc/{process.pid}/statm", encoding="ascii") as statm:
            resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        folder = f"/proc/{process.pid}/fd"
        held = sorted(os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder))
    except (FileNotFoundError, ProcessLookupError):
        return None
    # A pipe of the reader or a temporary file is there for a moment.
    return resident, [name for name in held if not name.endswith(".tmp")]


def main():
    output = os.path.join(common.WORK, "soak")
    looks = []
    with subprocess.Popen([common.PROGRAM, *RUN, "--output", output], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=common.surroundings(output)) as process:
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] != "step" or event["step"] < STEPS // 10:
                continue
            looks.append(look(process))
        code, words = process.wait(), process.stderr.read()
    holds(f"{STEPS} steps end with 0", code == 0, words)
    looks = [seen for seen in looks if seen]
    if holds("it was looked at", len(looks) > 80, len(looks)):
        tenth = len(looks) // 9
        early = statistics.median(resident for resident, _ in looks[:tenth])
        late = statistics.median(resident for resident, _ in looks[-tenth:])
        holds("resident memory grows by less than 1 MiB", late - early < LIMIT, (early, late))
        holds("descriptors stay the same", len(looks[0][1]) == len(looks[-1][1]),
              (looks[0][1], looks[-1][1]))
        print(f"{STEPS} steps: {early / 2**20:.1f} MiB, at the end {(late - early) / 1024:.0f} KiB "
              f"more, {len(looks[-1][1])} descriptors")
    common.finish()


main()
