"""check_torch.py PROGRAM FOLDER: trains tests/torch.lua with every case of tests/torch_cases.txt
and compares `PROGRAM forward` with scripts/torch_model.py, at the trained length and, where the
encoding is defined there, at one of two tiles of keys. FOLDER is emptied; results stay there."""

import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, "scripts")
import torch_model

LENGTHS = (24, 300)


def harness(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True)


def trained(number, words):
    """The result file of a case."""
    kind, *options = words
    keys = [word if "." in word.split("=")[0] else f"model.encoding.{word}" for word in options]
    output = folder / f"{number:02d}"
    run = harness("tests/torch.lua", f"model.encoding={kind}", *keys, "--quiet",
                  "--output", str(output))
    if run.returncode:
        raise ValueError(run.stderr.strip())
    (result,) = output.glob("*/*/run.h5")
    return result


def largest_error(result):
    errors = []
    for length in LENGTHS:
        out = result.with_name(f"forward-{length}.h5")
        run = harness("forward", str(result), "-n", "2", "--length", str(length), "-o", str(out))
        if run.returncode and "not defined" in run.stderr and length > LENGTHS[0]:
            continue
        if run.returncode:
            raise ValueError(run.stderr.strip())
        errors.append(torch_model.error(result, out))
    return max(errors)


program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
shutil.rmtree(folder, ignore_errors=True)
lines = pathlib.Path("tests/torch_cases.txt").read_text().splitlines()
cases = [line.split() for line in lines if line and not line.startswith("#")]
failed = 0
for number, words in enumerate(cases):
    try:
        share = largest_error(trained(number, words))
        bad, said = not share <= torch_model.TOLERANCE, f"{share:.1e}"
    except ValueError as problem:
        bad, said = True, str(problem)
    failed += bad
    print(f"{' '.join(words):<62} {said}{'  FAILED' if bad else ''}", flush=True)
print(f"{len(cases) - failed} passed, {failed} failed")
sys.exit(failed > 0)
