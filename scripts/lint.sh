#!/bin/sh
# lint.sh: holds the layers of CONTRIBUTING.md and the form of the files, with grep and awk alone:
# no compiler, no network, less than a second. Prints every breach as file:line: what <- why and
# ends with 1. The layout of C is left to `make format`: it depends on clang-format's version.
set -eu
breaches=$(mktemp)
trap 'rm -f "$breaches"' EXIT
export LC_ALL=C.UTF-8
IFS='
' # lists of files are lines

c_files=$(find src encodings tasks tests -name '*.[ch]' | sort)
scripts=$(find harness scripts tests -type f \( -name harness -o -name '*.sh' \) | sort)
texts="$c_files
$scripts
Makefile
.ci/run
$(find . \
    \( -path ./.git -o -path './.venv*' -o -path ./build -o -path ./results \) -prune -o -type f \
    \( -name '*.lua' -o -name '*.py' -o -name '*.md' \) -print | sort)"

# breach "WHAT" PATTERN FILES...: every line of the files that matches is one.
breach() {
    what=$1 pattern=$2
    shift 2
    [ $# -gt 0 ] || return 0
    grep -nHE -e "$pattern" "$@" | sed "s|\$|   <- $what|" >>"$breaches" || :
}
but() { # but PATTERN FILES...: the files whose path does not match
    except=$1
    shift
    printf '%s\n' "$@" | grep -vE "$except" || :
}

# Who may include which library, and who may start threads.
include='^ *# *include *<'
breach 'Lua only under src/lua/' "$include(lua|lauxlib|lualib)\.h" $(but '^src/lua/' $c_files)
breach 'HDF5 only under src/store/' "${include}hdf5" $(but '^src/store/' $c_files)
breach 'a BLAS only in src/gemm.c' "$include(oneapi|dnnl|libxsmm|cblas|mkl|openblas)" \
    $(but '^src/gemm\.c$' $c_files)
breach 'threads only in src/model/, src/optim.c, src/evaluate.c, src/bench.c' \
    'pragma omp +(parallel|for|single|task|sections|master|critical|atomic|barrier)' \
    $(but '^src/(model/|(optim|evaluate|bench)\.c$)|^tests/' $c_files)
breach 'our headers in ""' "$include(src|tasks|encodings|tests)/" $c_files

# Which of our headers a file may include: those of a lower layer, and those beside it.
grep -nHE '^ *# *include *"' $c_files | awk '
    function layer(file) {
        if (file ~ /^src\/(base|rng|simd|gemm|option|utf8|json|sha256|lock|stop|events)\./) return 1
        if (file ~ /^(encodings|tasks|src\/ops)\// || file ~ /^src\/optim\./) return 2
        if (file ~ /^src\/model\//) return 3
        if (file ~ /^src\/(config|study|identity|examples|claim)\./) return 3
        if (file ~ /^src\/(train|evaluate)\./ || file ~ /^src\/report\//) return 4
        if (file ~ /^src\/main\./) return 6
        if (file ~ /^tests\//) return 7
        return 5 # run, sweep, what the subcommands do; they alone reach src/lua/ and src/store/
    }
    function module(file) { # a folder, or a .c with its .h
        sub(/\.[ch]$/, "", file)
        if (file !~ /^src\/[^\/]*$/) sub(/\/[^\/]*$/, "", file)
        return file
    }
    function reason(from, to, here, there,    line) {
        if (to == "build_info.h") return ""
        if (to !~ /\// || to ~ /\.\./) return "written from the root"
        if ((getline line < to) < 0) return "no such file"
        close(to)
        if (here == there) return ""
        if (here ~ /^(encodings|tasks)$/) {
            if (to ~ /^src\/(base|option|rng)\.h$/) return ""
            if (here == "encodings" && to ~ /^src\/(simd|gemm)\.h$/) return ""
            return here " know their own contract only"
        }
        if (here ~ /^src\/(lua|store)$/) return layer(to) > 3 ? "files to plain C, no more" : ""
        if (layer(to) > layer(from)) return "a higher layer"
        if (layer(to) == layer(from) && layer(to) == 2) return "neighbours do not know each other"
        return ""
    }
    {
        split($0, part, ":")
        to = $0; sub(/^[^"]*"/, "", to); sub(/".*/, "", to)
        why = reason(part[1], to, module(part[1]), module(to))
        if (why) print part[1] ":" part[2] ": " to "   <- " why
    }' >>"$breaches"

# Every encoding, task and suite is in its list, and the list names no other.
listed() { # listed LIST MACRO PREFIX
    {
        sed -n "s|^$2(\([a-z0-9_]*\)).*|$3\1.c|p" "$1"
        but '/(registry|layout|positions|rope_scaling|main)\.c$' "$3"*.c
    } | sort | uniq -u | sed "s|\$|   <- in $1 or in the folder, not in both|" >>"$breaches"
}
listed encodings/list.h ENCODING encodings/
listed tasks/list.h TASK tasks/
listed tests/suites.h SUITE tests/test_

# The form of the files.
breach 'a tab' "$(printf '\t')" $(but '^Makefile$' $texts)
breach 'a blank at the end' '[[:blank:]]$' $texts
breach 'more than 100 columns' '^.{101,}' $(but '\.md$|^\./tests/bad_configs/' $texts)
breach 'do it or file it' '\b(TODO|FIXME|XXX)\b' $(but '^scripts/lint\.sh$' $texts)
for file in $scripts; do
    sh -n "$file" 2>>"$breaches" || :
    [ -x "$file" ] || [ "$file" = scripts/isa.sh ] || echo "$file: not executable" >>"$breaches"
done
bash -n .ci/run 2>>"$breaches" || :
if command -v python3 >/dev/null; then
    python3 - $(printf '%s\n' $texts | grep '\.py$' || :) >>"$breaches" <<'END'
import ast, sys

for name in sys.argv[1:]:
    try:
        ast.parse(open(name, encoding="utf-8").read(), name)
    except SyntaxError as error:
        print(f"{name}:{error.lineno}: {error.msg}")
END
fi

if [ -s "$breaches" ]; then
    cat "$breaches"
    echo "lint: $(grep -c '' "$breaches") breaches"
    exit 1
fi
echo "lint: $(printf '%s\n' $texts | grep -c '') files, nothing to say"
