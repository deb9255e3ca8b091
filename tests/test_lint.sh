#!/bin/sh
# scripts/lint.sh finds every kind of breach that it is there for: one of each in a copy of the
# tree. Ends with "N passed, N failed".
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R harness Makefile scripts src encodings tasks tests .ci "$work"
cd "$work" || exit 1
passed=0 failed=0

put() { printf '%s\n' "$2" >>"$1"; }
put src/base.c '#include <lua.h>'
put src/run.c '#include <hdf5.h>'
put tasks/copy.c '#include <oneapi/dnnl/dnnl.h>'
put src/train.c '#pragma omp parallel for'
put src/rng.c '#include "base.h"'
put src/optim.c '#include "src/nowhere.h"'
put src/ops/gelu.c '#include "src/model/model.h"'
put src/ops/bias.c '#include "encodings/encoding.h"'
put src/model/block.c '#include "src/store/store.h"'
put src/store/reader.c '#include "src/train.h"'
put encodings/nope.c '#include "src/ops/ops.h"'
put tasks/recall.c '#include "encodings/encoding.h"'
put encodings/forgotten.c 'int forgotten;'
put tests/suites.h 'SUITE(nothing)'
put src/simd.h "$(printf '\tint tab;')"
put src/gemm.c 'int blank; '
put src/option.c "/* $(printf '%098d' 0) */"
put src/stop.c "/* TO""DO */"
put scripts/broken.sh 'if'
put scripts/broken.py 'def'
scripts/lint.sh >found 2>&1
holds() {
    if grep -q -e "$1" found; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not found: $1"
    fi
}
holds 'src/base\.c.*<- Lua only'
holds 'src/run\.c.*<- HDF5 only'
holds 'tasks/copy\.c.*<- a BLAS only'
holds 'src/train\.c.*<- threads only'
holds 'src/rng\.c.*<- written from the root'
holds 'src/optim\.c.*<- no such file'
holds 'src/ops/gelu\.c.*<- a higher layer'
holds 'src/ops/bias\.c.*<- neighbours'
holds 'src/model/block\.c.*<- a higher layer'
holds 'src/store/reader\.c.*<- files to plain C'
holds 'encodings/nope\.c.*<- encodings know'
holds 'tasks/recall\.c.*<- tasks know'
holds 'encodings/forgotten\.c.*<- in encodings/list.h or'
holds 'tests/test_nothing\.c.*<- in tests/suites.h or'
holds 'src/simd\.h.*<- a tab'
holds 'src/gemm\.c.*<- a blank'
holds 'src/option\.c.*<- more than 100'
holds 'src/stop\.c.*<- do it or file it'
holds 'scripts/broken\.sh'
holds 'scripts/broken\.sh: not executable'
holds 'scripts/broken\.py'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
