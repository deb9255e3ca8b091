#!/bin/sh
# test_files.sh PROGRAM: makes a small result and has Python read it (tests/test_files.py, whose
# last line counts): HDF5 files are for other programs.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" tests/tiny.lua --output "$work" --quiet >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
.venv/bin/python tests/test_files.py "$(find "$work" -name run.h5)" "$1"
