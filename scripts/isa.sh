# Sourced by the launcher and the Makefile: sets `isa` to the highest instruction set level of this
# machine (x86-64-v4, -v3 or -v2; elsewhere "native"), `isas` to all that it has. Runs no program:
# every start passes here.
isa=native isas=native
if [ -r /proc/cpuinfo ]; then
    while IFS= read -r line; do
        case $line in flags*) break ;; esac
    done </proc/cpuinfo
    has() {
        for flag; do
            case " $line " in *" $flag "*) ;; *) return 1 ;; esac
        done
    }
    if has cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3; then
        isa=x86-64-v2 isas=x86-64-v2
        if has abm avx avx2 bmi1 bmi2 f16c fma movbe xsave; then
            isa=x86-64-v3 isas="$isas $isa"
            if has avx512f avx512bw avx512cd avx512dq avx512vl; then
                isa=x86-64-v4 isas="$isas $isa"
            fi
        fi
    fi
fi
