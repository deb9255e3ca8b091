"""program.py: what the Python tests of the program share. They are called from the root, with the
program as their first argument, and end with "N passed, N failed"."""

import atexit
import collections
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import threading

PROGRAM = os.path.abspath(sys.argv[1])
LIMIT = 100  # seconds; who takes longer is killed
WORK = tempfile.mkdtemp(prefix="harness_test_")
atexit.register(shutil.rmtree, WORK, True)

# code: exit code, or minus the signal. cpu: seconds; memory: MiB at most.
Ended = collections.namedtuple("Ended", "code out err cpu memory")


def start(*words, folder=None):
    """Runs the program to its end on one thread."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err, cwd=folder,
                                   env={**os.environ, "OMP_NUM_THREADS": "1"})
        clock = threading.Timer(LIMIT, process.kill)
        clock.start()
        _, status, used = os.wait4(process.pid, 0)
        clock.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "backslashreplace"))
        return Ended(process.returncode, *texts, used.ru_utime + used.ru_stime,
                     used.ru_maxrss / 1024)


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def write_bytes(path, content):
    with open(path, "wb") as file:
        file.write(content)


def lines(text):
    return text.splitlines()


def commands_a_terminal(text):
    """Control characters of ASCII and of Latin-1, but for ends of lines and tabs."""
    return any(ord(c) < 0x20 and c not in "\n\t" or 0x7f <= ord(c) < 0xa0 for c in text)


class Count:
    def __init__(self):
        self.passed = self.failed = 0

    def holds(self, what, condition, detail=None):
        """Counts; says what does not hold, with an Ended or something else about it."""
        if condition:
            self.passed += 1
            return True
        self.failed += 1
        if isinstance(detail, Ended):
            detail = detail._replace(out=detail.out[-300:], err=detail.err[-600:])
        print(f"not so: {what}" + (f"\n    {detail}" if detail else ""), flush=True)
        return False

    def end(self, note=None):
        if note:
            print(note)
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)


def side_by_side(work, cases):
    """work(case) for every case, in their order, two at a time."""
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        return list(pool.map(work, cases))
