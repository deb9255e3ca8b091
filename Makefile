# make            the program, for the instruction set of this machine
# make help       what else there is
#
# Settings, on the command line or from the environment:
CC      ?= cc
ISA     ?= $(shell . scripts/isa.sh; echo $$isa)
FLAVOUR ?=#     one of double plain asan tsan; empty: the program as it is run
WERROR  ?=#     1: warnings are errors
BUILD   ?= build/$(ISA)$(addprefix -,$(filter-out cc gcc,$(notdir $(CC))) $(FLAVOUR))
JOBS    ?= $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
PYTHON  ?= python3

# What scripts/probe.sh found: the flags of each library, and what is missing. Probed again as long
# as something is.
ifeq ($(filter check check-learning clean double asan tsan plain lint format setup help,\
      $(MAKECMDGOALS)),)
include $(BUILD)/probe.mk
endif

WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
           -Wwrite-strings -Wdouble-promotion $(if $(WERROR),-Werror)
# Not -ffast-math: masks need -inf, guards need isnan.
OPTIMIZE = -O3 -fno-math-errno -fno-trapping-math
SANITIZE =
ONEDNN   = $(if $(ONEDNN_LIBS),-DHAVE_ONEDNN)
LIBXSMM  = $(if $(LIBXSMM_LIBS),-DHAVE_LIBXSMM)
BLAS_LIBS = $(LIBXSMM_LIBS) $(ONEDNN_LIBS)

ifneq ($(filter double plain tsan,$(FLAVOUR)),)# no double product there; OpenMP of their own
ONEDNN =
LIBXSMM =
BLAS_LIBS =
endif
ifeq ($(FLAVOUR),double)
PRECISION = -DREAL_DOUBLE
endif
ifeq ($(FLAVOUR),asan)
OPTIMIZE = -O1 -g
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ifeq ($(FLAVOUR),tsan)
OPTIMIZE = -O1 -g
SANITIZE = -fsanitize=thread
endif

CODE = -std=c11 -D_GNU_SOURCE $(PRECISION) $(ONEDNN) $(LIBXSMM) $(OPTIMIZE) $(ARCH_CFLAGS) \
       $(OPENMP_CFLAGS) $(SANITIZE) $(CFLAGS)
COMPILE = $(CC) $(CODE) -I. -I$(BUILD) $(WARNINGS) -MMD -MP $(PREFIX_CFLAGS)
LINK = $(CC) $(SANITIZE) $(LDFLAGS) $(PREFIX_LIBS)
LIBS = $(HDF5_LIBS) $(LUA_LIBS) $(BLAS_LIBS) $(OPENMP_LIBS) -lm

SOURCES = $(wildcard src/*.c src/*/*.c encodings/*.c tasks/*.c)
TESTS   = $(wildcard tests/*.c)
object  = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIBRARY = $(call object,$(filter-out src/main.c,$(SOURCES)))

all: $(BUILD)/harness ## (default) the program, build/ISA/harness

tests: $(BUILD)/run_tests ## the test program, build/ISA/run_tests

$(BUILD)/harness: $(call object,src/main.c) $(LIBRARY)
	@echo "  link $@"
	@$(LINK) -o $@ $^ $(LIBS)

$(BUILD)/run_tests: $(call object,$(TESTS)) $(LIBRARY)
	@echo "  link $@"
	@$(LINK) -o $@ $^ $(LIBS) $(CHECK_LIBS)

# Headers of a library are in reach only where its layer is.
$(BUILD)/src/lua/%.o:   LAYER_CFLAGS = $(LUA_CFLAGS)
$(BUILD)/src/store/%.o: LAYER_CFLAGS = $(HDF5_CFLAGS) -DH5_USE_110_API
$(BUILD)/src/gemm.o:    LAYER_CFLAGS = $(ONEDNN_CFLAGS) $(LIBXSMM_CFLAGS)
$(BUILD)/src/rng.o:     LAYER_CFLAGS = $(RANDOM123_CFLAGS)
$(BUILD)/tests/%.o:     LAYER_CFLAGS = $(CHECK_CFLAGS) $(HDF5_CFLAGS) -DH5_USE_110_API

$(BUILD)/%.o: %.c $(BUILD)/command | $(BUILD)/build_info.h
	@mkdir -p $(@D)
	@echo "  cc   $<"
	@$(COMPILE) $(LAYER_CFLAGS) -c -o $@ $<

-include $(patsubst %.c,$(BUILD)/%.d,$(SOURCES) $(TESTS))

# Files that are looked at each time and written only when their content changed: the command line
# (everything is compiled again) and what --version tells (the one object that includes it).
$(BUILD)/command: FORCE
	$(if $(MISSING),$(error missing: $(MISSING). `make setup` installs it))
	$(if $(SLOW),$(warning missing: $(SLOW), plain loops stand in and are slower. `make setup` \
	installs it))
	@scripts/write_changed.sh $@ echo '$(COMPILE) $(COMPILER)'

$(BUILD)/build_info.h: FORCE
	@scripts/write_changed.sh $@ scripts/build_info.sh '$(ISA)' '$(COMPILER)' '$(CODE)'

$(BUILD)/probe.mk: scripts/probe.sh $(if $(MISSING)$(SLOW)$(UNTESTED),FORCE)
	@scripts/write_changed.sh $@ scripts/probe.sh '$(CC)' '$(ISA)'

FORCE:
.PHONY: all tests FORCE
