# make            the program, for the instruction set of this machine
# make help       what else there is
#
# Settings, on the command line:
CC      ?= cc
ISA     := $(or $(HARNESS_ISA),$(shell . scripts/isa.sh; echo $$isa))
FLAVOUR  =# one of double plain asan tsan fuzz; empty: the program as it is run
WERROR   =# 1: warnings are errors
BUILD    = build
NAME     = $(strip $(ISA) $(filter-out cc gcc,$(notdir $(CC))) $(FLAVOUR))
OUT      = $(BUILD)/$(subst $() ,-,$(NAME))
JOBS    := $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)

# What scripts/probe.sh found: the flags of each library, and what is missing. Probed again as long
# as something is.
ifneq ($(filter-out check isas double plain asan tsan check-learning bench-torch lint format setup \
       clean help,$(or $(MAKECMDGOALS),all)),)
include $(OUT)/probe.mk
endif

# Vector types in src/simd.h are never passed between files: -Wno-psabi.
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
           -Wwrite-strings -Wdouble-promotion -Wno-psabi $(if $(WERROR),-Werror)
# Not -ffast-math: masks need -inf, guards need isnan. Fused multiply-add, which -std=c11 forbids,
# is what half of the peak is made of.
OPTIMIZE = -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast
SANITIZE =
BLAS     = $(if $(ONEDNN_LIBS),-DHAVE_ONEDNN) $(if $(LIBXSMM_LIBS),-DHAVE_LIBXSMM)
BLAS_LIBS = $(LIBXSMM_LIBS) $(ONEDNN_LIBS)

# They have no double product, and code that ThreadSanitizer cannot see into.
ifneq ($(filter double plain tsan,$(FLAVOUR)),)
BLAS = -DNO_BLAS
BLAS_LIBS =
endif
ifeq ($(FLAVOUR),double)
PRECISION = -DREAL_DOUBLE
endif
ifeq ($(FLAVOUR),asan)
OPTIMIZE = -O2 -g
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ifeq ($(FLAVOUR),fuzz)
OPTIMIZE = -O1 -g -Wno-pass-failed
SANITIZE = -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
endif
ifeq ($(FLAVOUR),tsan)
OPTIMIZE = -O1 -g
SANITIZE = -fsanitize=thread
endif

CODE = -std=c11 -D_GNU_SOURCE $(PRECISION) $(BLAS) $(OPTIMIZE) $(ARCH_CFLAGS) \
       $(OPENMP_CFLAGS) $(SANITIZE) $(CFLAGS)
COMPILE = $(CC) $(CODE) -I. -I$(OUT) $(WARNINGS) -MMD -MP $(PREFIX_CFLAGS)
LINK = $(CC) $(SANITIZE) $(LDFLAGS) $(PREFIX_LIBS)
LIBS = $(HDF5_LIBS) $(LUA_LIBS) $(BLAS_LIBS) $(OPENMP_LIBS) -lm

SOURCES = $(wildcard src/*.c src/*/*.c encodings/*.c tasks/*.c)
TESTS   = $(wildcard tests/*.c)
object  = $(patsubst %.c,$(OUT)/%.o,$(1))
LIBRARY = $(call object,$(filter-out src/main.c,$(SOURCES)))

all: $(OUT)/harness ## (default) the program: build/ISA/harness, what ./harness starts

# What only `make fuzz` links is compiled with the rest, so that it follows the functions it calls.
tests: $(call object,$(wildcard tests/fuzz/*.c))
tests: $(OUT)/run_tests $(OUT)/faults.so ## the test program: build/ISA/run_tests [SUITE...]

# Linked beside and moved into place: nobody starts half a program.
$(OUT)/harness: $(call object,src/main.c) $(LIBRARY)
	@echo "  link $@"
	@$(LINK) -o $@.new $^ $(LIBS)
	@mv $@.new $@

$(OUT)/run_tests: $(call object,$(TESTS)) $(LIBRARY)
	@echo "  link $@"
	@$(LINK) -o $@ $^ $(LIBS) $(CHECK_LIBS)

# Stands in front of libc, in a process of its own (tests/crash).
$(OUT)/faults.so: tests/crash/faults.c $(OUT)/command
	@echo "  link $@"
	@$(CC) -std=c11 -D_GNU_SOURCE -O1 -g $(WARNINGS) -fPIC -shared -o $@ $< -ldl

# The compiler of another processor, whose code nothing here runs; libraries' headers are those of
# this machine. Debian's lua.h wants one from the folder of this processor: last, and for Lua alone.
aarch64: ## every file of the program compiled for aarch64 (Debian's cross compiler, not run)
	@$(if $(HARNESS_NO_SETUP),,scripts/setup.sh aarch64)
	@$(FLAVOUR_MAKE) CC=aarch64-linux-gnu-gcc ISA=aarch64 FLAVOUR=plain OUT=$(BUILD)/aarch64 \
	    MISSING= SLOW= HDF5_CFLAGS='$(HDF5_CFLAGS)' WERROR=1 objects \
	    LUA_CFLAGS='$(LUA_CFLAGS) -idirafter /usr/include/$(shell $(CC) -print-multiarch)'

objects: $(call object,$(SOURCES))

# Programs of libFuzzer, which brings main.
FUZZ = config override json log
$(FUZZ:%=$(OUT)/fuzz_%): $(OUT)/fuzz_%: $(call object,tests/fuzz/%.c tests/fuzz/fuzz.c) $(LIBRARY)
	@echo "  link $@"
	@$(LINK) -fsanitize=fuzzer -o $@ $^ $(LIBS)

# Headers of a library are in reach only where its layer is.
$(OUT)/src/lua/%.o:   LAYER_CFLAGS = $(LUA_CFLAGS)
$(OUT)/src/store/%.o: LAYER_CFLAGS = $(HDF5_CFLAGS) -DH5_USE_110_API
$(OUT)/src/gemm.o:    LAYER_CFLAGS = $(ONEDNN_CFLAGS) $(LIBXSMM_CFLAGS)
$(OUT)/src/rng.o:     LAYER_CFLAGS = $(RANDOM123_CFLAGS)
$(OUT)/tests/%.o:     LAYER_CFLAGS = $(CHECK_CFLAGS) $(HDF5_CFLAGS) -DH5_USE_110_API

$(OUT)/%.o: %.c $(OUT)/command | $(OUT)/build_info.h
	@mkdir -p $(@D)
	@echo "  cc   $<"
	@$(COMPILE) $(LAYER_CFLAGS) -c -o $@ $<

-include $(patsubst %.c,$(OUT)/%.d,$(SOURCES) $(TESTS) $(wildcard tests/fuzz/*.c))

# Files that are looked at each time and written only when their content changed: the command line
# (everything is compiled again) and what --version tells (the one object that includes it).
$(OUT)/command: FORCE
	$(if $(MISSING),$(error missing: $(MISSING). `make setup` installs it))
	$(if $(SLOW),$(warning missing: $(SLOW); slower loops stand in. `make setup` installs it))
	@scripts/write_changed.sh $@ echo '$(COMPILE) $(COMPILER)'

$(OUT)/build_info.h: FORCE
	@scripts/write_changed.sh $@ scripts/build_info.sh '$(ISA)' '$(COMPILER)' '$(CODE)'

$(OUT)/probe.mk: scripts/probe.sh $(if $(MISSING)$(SLOW)$(UNTESTED),FORCE)
	@scripts/write_changed.sh $@ scripts/probe.sh '$(CC)' '$(ISA)'

# ---- tests ------------------------------------------------------------------------------------

# One make a flavour: each has its own folder and flags.
FLAVOUR_MAKE = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
SETUP = $(if $(HARNESS_NO_SETUP),,scripts/setup.sh tests)
RUN_TESTS = scripts/run_tests.sh
flavour = $(OUT)-$(1)
# A command a suite: they run side by side.
SUITES = $(shell sed -n 's/^SUITE(\(.*\))$$/\1/p' tests/suites.h)
suites = $(foreach suite,$(or $(2),$(SUITES)),'$(1)/run_tests $(suite)')

crash = .venv/bin/python tests/crash/$(1).py $(OUT)/harness $(OUT)/faults.so

check: ## all tests, after installing what they need: float, double, whole runs, launcher, lint
	@$(SETUP)
	@$(FLAVOUR_MAKE) all tests
	@$(FLAVOUR_MAKE) FLAVOUR=double tests
	@$(FLAVOUR_MAKE) .venv/installed
	@$(RUN_TESTS) tests/test_launcher.sh 'tests/test_study.sh $(OUT)/harness' \
	    '.venv/bin/python tests/test_foreign.py $(OUT)/harness' \
	    'tests/test_run.sh $(OUT)/harness' 'tests/test_files.sh $(OUT)/harness' \
	    '.venv/bin/python tests/test_hostile.py $(OUT)/harness' \
	    '$(call crash,kills) 60' '$(call crash,faults) 40' \
	    '$(call crash,surroundings)' '$(call crash,soak) 10000' \
	    $(call suites,$(call flavour,double)) $(call suites,$(OUT)) tests/test_lint.sh

double: ## the program and its tests with real = double: gradients to 1e-8
	@$(FLAVOUR_MAKE) FLAVOUR=double all tests
	@$(RUN_TESTS) $(call suites,$(call flavour,double))

plain: ## the program without oneDNN and LIBXSMM, and the tests that multiply matrices
	@$(FLAVOUR_MAKE) FLAVOUR=plain all tests
	@$(RUN_TESTS) \
	    $(call suites,$(call flavour,plain),ops optim attention linear model selftest run)

# The other levels of this machine, and the suites that add and multiply.
ISAS = $(filter-out $(ISA),$(shell . scripts/isa.sh; echo $$isas))
isa_folder = $(OUT:$(BUILD)/$(ISA)%=$(BUILD)/$(1)%)
NUMERICS = $(filter-out tasks examples config identity study store report records,$(SUITES))
isas: ## the other instruction sets of this machine: the tests of the numerics for each
	@$(SETUP)
	@set -e; for isa in $(ISAS); do $(FLAVOUR_MAKE) ISA=$$isa all tests; done
	@$(RUN_TESTS) $(foreach isa,$(ISAS),'$(call isa_folder,$(isa))/harness selftest' \
	    $(call suites,$(call isa_folder,$(isa)),$(NUMERICS)))

asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(FLAVOUR_MAKE) FLAVOUR=asan tests
	@LSAN_OPTIONS=suppressions=tests/leaks.supp:print_suppressions=0 \
	    $(RUN_TESTS) $(call suites,$(call flavour,asan))

tsan: ## the tests under ThreadSanitizer: clang, libomp and its Archer (gcc's runtime misleads it)
	@$(FLAVOUR_MAKE) CC=clang FLAVOUR=tsan tests
	@TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
	    $(RUN_TESTS) $(call suites,$(BUILD)/$(ISA)-clang-tsan)

# The long parts of tests/crash, as docs/RELIABILITY.md quotes them.
KILLS = 1000
crash: ## kills runs a thousand times (KILLS=N) and continues them
	@$(FLAVOUR_MAKE) all tests .venv/installed
	@$(call crash,kills) $(KILLS)

faults: ## makes every call to the disk and every allocation fail once (an hour)
	@$(FLAVOUR_MAKE) all tests .venv/installed
	@EVERY_BYTE=1 $(OUT)/run_tests store
	@$(call crash,faults) 1

STEPS = 100000
soak: ## trains a small model for 100000 steps (STEPS=N): memory and descriptors stay
	@$(FLAVOUR_MAKE) all tests .venv/installed
	@$(call crash,soak) $(STEPS)

check-learning: ## trains the shipped configs to their thresholds (minutes)
	@$(FLAVOUR_MAKE) all .venv/installed
	@$(RUN_TESTS) 'tests/test_learning.sh $(OUT)/harness'

check-torch: ## every encoding against PyTorch (installs it in .venv-torch: gigabytes, not in CI)
	@$(FLAVOUR_MAKE) all $(TORCH_INSTALLED)
	@$(RUN_TESTS) '$(TORCH) tests/check_torch.py $(OUT)/harness $(OUT)/torch'

# What the tests and selftest compare with, from the results of check-torch.
torch-vectors: check-torch ## src/selftest_vectors.h, after a change of tests/torch_cases.txt
	@scripts/write_changed.sh src/selftest_vectors.h \
	    $(TORCH) scripts/torch_model.py --vectors $(OUT)/torch/*/*/*/run.h5

# What leads to new code is added to build/…/corpus; tests/fuzz/NAME holds the first inputs.
SECONDS = 60
fuzz: ## libFuzzer on what reads configs, overrides, results' configs and logs, SECONDS=60 each
	@CC=clang scripts/setup.sh tests fuzz
	@$(FLAVOUR_MAKE) CC=clang FLAVOUR=fuzz $(FUZZ:%=$(BUILD)/$(ISA)-clang-fuzz/fuzz_%)
	@$(RUN_TESTS) $(FUZZ:%='scripts/fuzz.sh $(BUILD)/$(ISA)-clang-fuzz % $(SECONDS)')

# valgrind knows no AVX-512. Suites that measure time or count processes are left out.
MEMCHECK = $(BUILD)/$(ISA:x86-64-v4=x86-64-v3)-plain
memcheck: ## valgrind: short suites, and a tiny run that is read again
	@scripts/setup.sh tests memcheck
	@$(FLAVOUR_MAKE) ISA=$(ISA:x86-64-v4=x86-64-v3) FLAVOUR=plain all tests
	@$(RUN_TESTS) 'scripts/memcheck.sh $(MEMCHECK)'

COUNTED = $(ISA:x86-64-v4=x86-64-v3)
instructions: ## valgrind: a training step's instructions against the record (RENEW=1 writes it)
	@$(if $(HARNESS_NO_SETUP),,scripts/setup.sh tests memcheck)
	@$(FLAVOUR_MAKE) ISA=$(COUNTED) all
	@$(RUN_TESTS) 'tests/instructions.sh $(call isa_folder,$(COUNTED))/harness'

MUTATIONS = 2000
mutate: ## MUTATIONS=2000 changed result files through the commands that read them (minutes)
	@$(FLAVOUR_MAKE) all .venv/installed
	@$(RUN_TESTS) '.venv/bin/python tests/test_foreign.py $(OUT)/harness $(MUTATIONS) $(SEED)'

.PHONY: fuzz memcheck instructions mutate

bench: all ## speed against the peak of this machine
	@$(OUT)/harness bench

bench-torch: ## speed against PyTorch, in turns (installs it in .venv-torch)
	@$(FLAVOUR_MAKE) all $(TORCH_INSTALLED)
	@bench/peers.sh $(OUT)/harness $(TORCH)

docs: all ## docs/CONFIG.md, after a change of an option
	@scripts/write_changed.sh docs/CONFIG.md $(OUT)/harness docs config

lint: ## layers, includes, form of the files
	@scripts/lint.sh

format: ## clang-format over all C files
	clang-format -i $(SOURCES) $(TESTS) $(wildcard tests/fuzz/*.c */*.h */*/*.h)

setup: ## installs what the program and its tests need, and Python's part in .venv
	@scripts/setup.sh tests
	@$(FLAVOUR_MAKE) .venv/installed

# Python for tests and plots, in a folder of its own.
.venv/installed: scripts/requirements.txt
	python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# PyTorch, in another one. TORCH=PYTHON takes a Python that has it.
TORCH = .venv-torch/bin/python
TORCH_INSTALLED = $(if $(filter .venv-torch/%,$(TORCH)),.venv-torch/installed)
.venv-torch/installed: scripts/requirements-torch.txt
	python3 -m venv .venv-torch
	.venv-torch/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

clean: ## removes build/ (results/ and .venv/ stay)
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /    make \1\t/p' Makefile | expand -t 24

FORCE:
.PHONY: all tests check crash faults soak double plain asan tsan check-learning check-torch \
        torch-vectors bench bench-torch docs lint format setup clean help isas \
        aarch64 objects FORCE
