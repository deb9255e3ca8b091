"""same_run.py A.h5 B.h5: do two result files hold the same run, bit for bit? Left out are the
fields that tell when and how fast, which differ between equal runs."""

import sys

import h5py
import numpy as np

TIME = {"train/seconds", "train/tokens_per_second"}


def datasets(path):
    found = {}
    with h5py.File(path) as result:
        def visit(name, node):
            if isinstance(node, h5py.Dataset) and name not in TIME:
                found[name] = node[()]
        result.visititems(visit)
        found["@config"] = result.attrs["config_sha256"]
        found["@moves"] = result.attrs["moves"]
        found["@completed"] = result.attrs["completed"]
    return found


def different(one, other):
    """The names of what differs between two files."""
    a, b = datasets(one), datasets(other)
    names = sorted(set(a) ^ set(b))
    for name in sorted(set(a) & set(b)):
        x, y = np.asarray(a[name]), np.asarray(b[name])
        if x.dtype != y.dtype or x.shape != y.shape or x.tobytes() != y.tobytes():
            if x.dtype != object or (x != y).any():
                names.append(name)
    return names


if __name__ == "__main__":
    found = different(sys.argv[1], sys.argv[2])
    print(f"different: {found or 'none'}")
    sys.exit(bool(found))
