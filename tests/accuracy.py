"""accuracy.py RESULT.h5 LENGTH LEAST: is the final token accuracy at that length at least LEAST?"""

import sys

import h5py

path, length, least = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with h5py.File(path) as result:
    final = result["evaluate/final"]
    reached = dict(zip(final["length"][:].tolist(), final["token_accuracy"][:].tolist()))[length]
    print(f"{path}: {reached:.4f} at {length} tokens, wanted {least}")
sys.exit(reached < least)
