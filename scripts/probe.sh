#!/bin/sh
# probe.sh [CC [ISA]]: finds the compiler's flags and the libraries by compiling and linking a few
# lines each (several of them have no pkg-config file), and prints them as make variables:
#
#   NAME_CFLAGS, NAME_LIBS   of what was found
#   MISSING                  what the program cannot do without
#   SLOW                     what makes it fast; plain loops stand in
#   UNTESTED                 what only the tests need
set -eu
cc=${1:-cc}
isa=${2:-native}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
missing= slow= untested=

# try CFLAGS LIBS: does the program compile and link?
try() {
    # shellcheck disable=SC2086 # flags are lists
    $cc -std=c11 -D_GNU_SOURCE $prefix_cflags $arch $1 "$scratch/probe.c" -o "$scratch/probe" \
        $prefix_libs $2 2>/dev/null
}

# search NAME "CFLAGS|LIBS" ...: with the program on standard input, prints the first that links.
search() {
    name=$1
    shift
    cat >"$scratch/probe.c"
    for candidate; do
        [ "$candidate" ] && try "${candidate%%|*}" "${candidate#*|}" || continue
        echo "${name}_CFLAGS = ${candidate%%|*}"
        echo "${name}_LIBS = ${candidate#*|}"
        return 0
    done
    return 1
}

# package NAME...: the first that pkg-config knows, as a candidate. Foreign headers are system
# headers: their warnings are not ours.
package() {
    for name; do
        if pkg-config --exists "$name" 2>/dev/null; then
            pkg-config --cflags "$name" | sed 's/-I/-isystem /g; s/$/|/' | tr -d '\n'
            pkg-config --libs "$name"
            return
        fi
    done
}

# Where conda or Homebrew keep theirs.
prefix=${CONDA_PREFIX:-$(brew --prefix 2>/dev/null || :)}
prefix_cflags= prefix_libs=
if [ "$prefix" ]; then
    prefix_cflags="-isystem $prefix/include"
    prefix_libs="-L$prefix/lib -Wl,-rpath,$prefix/lib"
fi

# The compiler, and how it names the instruction set.
case $isa in
x86-64-v4) levels='-march=x86-64-v4 -mprefer-vector-width=512' ;;
x86-64-*) levels=-march=$isa ;;
*) levels='-march=native|-mcpu=native|' ;;
esac
echo 'int main(void) { return 0; }' >"$scratch/probe.c"
found=
while [ ! "$found" ]; do
    arch=${levels%%|*}
    if try '' ''; then found=yes; fi
    case $levels in *'|'*) levels=${levels#*|} ;; *) break ;; esac
done
[ "$found" ] || missing="$missing cc"
command -v make >/dev/null || missing="$missing make"
echo "COMPILER = $($cc --version 2>/dev/null | head -n 1)"
echo "ARCH_CFLAGS = $arch"
echo "PREFIX_CFLAGS = $prefix_cflags"
echo "PREFIX_LIBS = $prefix_libs"

search OPENMP '-fopenmp|-fopenmp' '-Xpreprocessor -fopenmp|-lomp' \
    <<'END' || missing="$missing openmp"
#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }
END

search HDF5 "$(package hdf5-serial hdf5 | sed 's/-lhdf5[^ ]*/-lhdf5_hl &/')" \
    '-isystem /usr/include/hdf5/serial|-lhdf5_serial_hl -lhdf5_serial' \
    '|-lhdf5_hl -lhdf5' <<'END' || missing="$missing hdf5"
#include <hdf5.h>
#include <hdf5_hl.h>
int main(void) { return H5open() + H5DSis_scale(0) < 0; }
END

search LUA "$(package lua5.4 lua-5.4 lua54 lua)" '-isystem /usr/include/lua5.4|-llua5.4 -lm' \
    '|-llua5.4 -lm -ldl' '|-llua -lm -ldl' <<'END' || missing="$missing lua"
#include <lua.h>
#include <lauxlib.h>
#if LUA_VERSION_NUM != 504
#error another Lua
#endif
int main(void) { return luaL_newstate() == NULL; }
END

search RANDOM123 '|' <<'END' || missing="$missing random123"
#include <Random123/philox.h>
int main(void) { return (int)philox4x32((philox4x32_ctr_t){{0}}, (philox4x32_key_t){{0}}).v[0]; }
END

search ONEDNN '|-ldnnl' <<'END' || slow="$slow onednn"
#include <dnnl.h>
int main(void) {
    float x = 1;
    return dnnl_sgemm('N', 'N', 1, 1, 1, 1, &x, 1, &x, 1, 0, &x, 1);
}
END

# LIBXSMM (x86-64 alone) wants a BLAS to fall back on; its own stand-in ends the program, and is
# never called: only kernels made at run time are.
[ "$(uname -m)" != x86_64 ] || search LIBXSMM '|-lxsmm -lxsmmnoblas -ldl -lm -lpthread' \
    <<'END' || slow="$slow libxsmm"
#include <libxsmm.h>
int main(void) {
    return !libxsmm_smmdispatch(16, 16, 16, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}
END

search CHECK "$(package check)" '|-lcheck -lsubunit -lrt -lm -pthread' '|-lcheck -lm -pthread' \
    <<'END' || untested="$untested check"
#include <check.h>
int main(void) { return srunner_create(NULL) == NULL; }
END
python3 -c 'import ensurepip, venv' 2>/dev/null || untested="$untested python"
command -v git >/dev/null || untested="$untested git"

echo "MISSING = ${missing# }"
echo "SLOW = ${slow# }"
echo "UNTESTED = ${untested# }"
