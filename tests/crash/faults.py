"""faults.py PROGRAM FAULTS.so STRIDE: makes each call that touches the disk fail once, the first,
the second, … until the run makes no more of them; fills the disk; refuses memory. Whatever fails:
one clear line and exit code 74 (70 for memory), every published file whole, nothing temporary left;
and the next start ends with the bits of a run that nothing happened to. STRIDE 1 tries everything;
otherwise of the places that ask for memory every STRIDE-th is refused (in libraries every
20 * STRIDE-th), and runs that are new meet only the faults that others do not."""

import errno
import os
import resource
import shutil
import signal
import subprocess

import common
from common import holds

STRIDE = max(common.COUNT, 1)
RUN = ["tests/tiny.lua", "train.checkpoint_every=3", "--quiet"]
CALLS = {"open": errno.EMFILE, "opendir": errno.EMFILE, "read": errno.EIO, "pread": errno.EIO,
         "write": errno.ENOSPC, "pwrite": errno.ENOSPC, "fsync": errno.EIO, "fdatasync": errno.EIO,
         "close": errno.EDQUOT, "rename": errno.EIO, "unlink": errno.EACCES,
         "ftruncate": errno.EIO, "flock": errno.ENOLCK, "mkdir": errno.ENOSPC}
ONLY_NEW = ("mkdir", "pwrite", "flock")  # calls that a run that goes on does not make, or as often
tried = dict.fromkeys(["short write", *CALLS, "full disk", "memory of the program",
                       "memory of libraries"], 0)


def prepared(kind, halfway):
    """A folder to start in: empty, or of a run that was killed halfway."""
    output = os.path.join(common.WORK, kind)
    if halfway:
        shutil.copytree(halfway, output)
    return output


def after(what, output, before):
    """What must hold after a fault, whatever it was."""
    folder = common.run_folder(output)
    files = common.published(folder)
    holds(f"{what}: no checkpoint is lost", common.newest(files) >= before or
          files.get("run.h5", {}).get("completed"), list(files))
    holds(f"{what}: nothing temporary is left", not common.temporaries(folder),
          common.temporaries(folder))


def goes_on(what, output, whole):
    """The next start, with nothing in its way."""
    done = common.start(RUN, output)
    holds(f"{what}: the next start ends with 0", done.returncode == 0, done.stderr)
    common.same_run(what, common.run_folder(output), whole)
    shutil.rmtree(output)


def complaint(text):
    """The one line that says what is wrong; "" where there are none or several."""
    lines = [line for line in text.splitlines() if not line.startswith("going on after step")]
    return lines[0] if len(lines) == 1 and lines[0].startswith("harness: ") else ""


def disk_fault(call, action, number, halfway, whole):
    """Gives False when the program made no such call."""
    what = f"{call} {number} ({action}, {'going on' if halfway else 'new'})"
    output = prepared(f"{call}-{action}-{number}-{bool(halfway)}", halfway)
    before = common.newest(common.published(common.run_folder(output)))
    done = common.start(RUN, output, fault=f"{call}:{number}:{action}")
    met = common.happened(output)
    if not met:
        shutil.rmtree(output)
        return False
    tried["short write" if action == "short" else call] += 1
    if action == "short" or call in ("unlink", "close", "read", "open") and not done.returncode:
        # The rest is written; what only tidies, or has an older generation behind it, stops nobody.
        holds(f"{what}: is got over", done.returncode == 0, (done.returncode, done.stderr))
    else:
        # 1: what lies there cannot be read, and is left as it is.
        reading = call in ("read", "open") and done.returncode == 1
        holds(f"{what}: ends with 74", reading or done.returncode == 74,
              (done.returncode, done.stderr, met))
        line = complaint(done.stderr)
        holds(f"{what}: in one line that says why", output in line and
              os.strerror(int(action)) in line, done.stderr)
    after(what, output, before)
    goes_on(what, output, whole)
    return True


def disk_faults(item):
    call, action, halfway, whole = item
    number = 1
    while disk_fault(call, action, number, halfway, whole):
        number += 1


def log_that_shrinks(halfway):
    """Its last byte is not there any more when it is to be read."""
    output = prepared("shrinks", halfway)
    done = common.start(RUN, output, fault="pread:1:short")
    holds("a log that shrinks: the run goes on without its last line", common.happened(output) and
          done.returncode == 0 and "events.jsonl lacks lines" in done.stderr, done.stderr)


def memory_fault(item):
    number, asker, halfway, whole = item
    what = f"allocation {number}, for {asker}"
    output = prepared(f"memory-{number}", halfway)
    before = common.newest(common.published(common.run_folder(output)))
    done = common.start(RUN, output, fault=f"allocate:{number}:{errno.ENOMEM}")
    holds(f"{what}: comes again", common.happened(output))
    own = asker == os.path.basename(common.PROGRAM)
    tried[f"memory of {'the program' if own else 'libraries'}"] += 1
    said = done.stderr.splitlines()
    clear = done.returncode == 70 and said and said[-1].startswith("harness: ")
    # Where the reader of a file had no memory, the file is left as it is.
    refused = done.returncode in (1, 2, 74) and said[-1].startswith("harness: ")
    # A library may do without; libgomp says so itself; libhdf5 may crash, but not on a file.
    library = not own and (done.returncode in (-signal.SIGSEGV, -signal.SIGABRT) or
                           "libgomp" in done.stderr or "AddressSanitizer" in done.stderr)
    holds(f"{what}: ends with 70 and a line, or is got over",
          clear or refused or done.returncode == 0 or library, (done.returncode, done.stderr))
    after(what, output, before)
    goes_on(what, output, whole)


def memory_faults(halfway, whole):
    output = prepared("memory", halfway)
    common.start(RUN, output, fault="allocate:0:0")
    places = [line.split() for line in common.happened(output)]
    shutil.rmtree(output)
    own = [p for p in places if p[2] == os.path.basename(common.PROGRAM)]
    others = [p for p in places if p not in own]
    holds("there are places that ask for memory", len(own) > 100 and len(others) > 100)
    # A child process counts on from its parent's number: one of a kind.
    chosen = {int(p[1]): p[2] for p in own[::STRIDE] + others[::20 * STRIDE]}
    common.each(memory_fault, [(*place, halfway, whole) for place in chosen.items()])


# ---- a disk that is full -------------------------------------------------------------------


def full_disk(what, output, done):
    tried["full disk"] += 1
    line = complaint(done.stderr)
    holds(f"{what}: ends with 74 and a line", done.returncode == 74 and output in line,
          (done.returncode, done.stderr))
    folder = common.run_folder(output)
    common.published(folder)
    holds(f"{what}: nothing temporary is left", not common.temporaries(folder))


def files_of_limited_size(halfway, whole):
    largest = os.path.getsize(os.path.join(whole, "run.h5"))
    for limit in (0, 1, 4096, 65536, largest - 1):
        what = f"files of at most {limit} bytes"
        output = prepared(f"limit{limit}", halfway)
        done = common.start(RUN, output, limit=(resource.RLIMIT_FSIZE, limit))
        full_disk(what, output, done)
        goes_on(what, output, whole)


def small_disk(whole):
    """On a tmpfs of 64 to 512 KiB in a name space of its own, which then grows."""
    script = """
        mount -t tmpfs -o size=64k none "$1" || exit 99
        for size in 64 128 256 512; do
            mount -o remount,size=${size}k "$1"
            "$2" $3 --output "$1/disk" 2>"$4"
            echo $?
            cat "$4" >&2
            find "$1" -name '*.tmp' >&2
        done
        mount -o remount,size=8m "$1"
        "$2" $3 --output "$1/disk" 2>&1 && cp -r "$1/disk" "$5"
    """
    place, output = os.path.join(common.WORK, "place"), os.path.join(common.WORK, "small")
    os.mkdir(place)
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", place, common.PROGRAM,
                           " ".join(RUN), os.path.join(common.WORK, "said"), output], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          env=common.surroundings(output))
    if done.returncode == 99 or done.stderr.startswith("unshare"):
        print("SKIPPED: a small disk, because no tmpfs can be mounted here:", done.stderr.strip())
        return
    codes = [int(word) for word in done.stdout.split() if word.isdigit()]
    said = [line for line in done.stderr.splitlines() if not line.startswith("going on")]
    tried["full disk"] += codes.count(74)
    holds("a small disk: 74 while it is too small", len(codes) >= 4 and set(codes[:-1]) == {74},
          (done.stdout, done.stderr))
    holds("a small disk: a line each time, and nothing temporary", len(said) == codes.count(74) and
          all("No space left on device" in line for line in said), done.stderr)
    if holds("a small disk: larger, it goes on", done.returncode == 0, (done.stdout, done.stderr)):
        common.same_run("a small disk", common.run_folder(output), whole)


def full_output(whole):
    """/dev/full takes nothing: what should have been printed is missed."""
    result = os.path.join(whole, "run.h5")
    lines = (["check", "tests/tiny.lua"], ["list"], ["list", "encodings", "rope"], ["help"],
             ["data", "tests/tiny.lua", "-n", "1"], ["show", result], ["verify", result],
             ["compare", result], ["compare", result, "--csv"], ["docs", "config"], ["--version"],
             [*RUN[:-1], "--json"], RUN[:-1], ["tests/tiny.lua", "seed=1..2", "--plan"])
    for number, words in enumerate(lines):
        output = os.path.join(common.WORK, f"full{number}")
        own = ["--output", output] if words[0].endswith(".lua") else []
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([common.PROGRAM, *words, *own], text=True, check=False,
                                  stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                                  env=common.surroundings(output))
        tried["full disk"] += 1
        holds(f"{' '.join(words)} on a full disk ends with 74", done.returncode == 74,
              (done.returncode, done.stderr))
        holds(f"{' '.join(words)} on a full disk says so",
              "No space left on device" in (done.stderr.splitlines() or [""])[-1], done.stderr)


def main():
    done = common.start(RUN, os.path.join(common.WORK, "whole"))
    holds("the run ends when nothing fails", done.returncode == 0, done.stderr)
    whole = common.run_folder(os.path.join(common.WORK, "whole"))
    halfway = os.path.join(common.WORK, "halfway")
    # Killed behind the second checkpoint, which follows the first result.
    common.start(RUN, halfway, fault="rename:3:after")
    common.happened(halfway)
    files = common.published(common.run_folder(halfway))
    holds("halfway there are a result and two checkpoints", len(files) == 3, list(files))
    kinds = [*((call, str(code)) for call, code in CALLS.items()), ("write", "short")]
    items = [(*kind, halfway, whole) for kind in kinds]
    items += [(*kind, None, whole) for kind in kinds if STRIDE == 1 or kind[0] in ONLY_NEW]
    common.each(disk_faults, items)
    for call in CALLS:
        holds(f"{call} was called", tried[call])
    log_that_shrinks(halfway)
    files_of_limited_size(halfway, whole)
    small_disk(whole)
    full_output(whole)
    memory_faults(halfway, whole)
    common.finish("faults: " + ", ".join(f"{name} {count}" for name, count in tried.items()))


main()
