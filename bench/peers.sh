#!/bin/sh
# peers.sh PROGRAM PYTHON [OPTION...]: the four shapes and three encodings against PyTorch, in turns
# (bench/peer_torch.py, whose options may follow). Some minutes each; wants an idle machine.
set -eu
program=$1 python=$2
shift 2
peer() { "$python" bench/peer_torch.py "$program" "$@"; }
for shape in rope_2k d256_t512 d128_t256 d64_t128; do
    peer "bench/$shape.lua" "$@"
done
for encoding in alibi t5 shaw; do
    peer bench/rope_2k.lua "model.encoding=$encoding" "$@"
done
