/* Work on slots. The tasks that add to one slot are a chain: what they add has to be added in the
   order of the chain. A thread stays with a chain, so that the slot is in its cache. Where no chain
   is left untouched threads help each other: several take tasks of one chain, and each waits for
   its turn before it adds something. So threads find work beyond the number of slots, and the bits
   are those of one thread that does chain after chain. */
#include "src/model/engine.h"

#include <sched.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
static int omp_get_num_threads(void) { return 1; }
#endif

enum { PATIENCE = 2000 }; /* looks before a thread that waits lets others have its core */

void chains_lay(Engine *engine) {
    const size_t per_item = engine_chained(engine) / engine->batch.items;
    size_t *next = engine->chained;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        Chain *chain = &engine->chains[slot];
        chain->tasks = next;
        for (size_t task = 0; task < engine_chained(engine); task++)
            if (engine_slot(engine, task / per_item, task % per_item) == slot) *next++ = task;
        chain->count = (size_t)(next - chain->tasks);
    }
}

/* The chain with the most left, an untouched one first; NULL when nothing is. Threads look from
   different chains on, so that they meet late. */
static Chain *next_chain(Engine *engine) {
    const size_t from = SLOTS * (size_t)omp_get_thread_num() / (size_t)omp_get_num_threads();
    Chain *best = NULL;
    size_t most_left = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        Chain *chain = &engine->chains[(from + i) % SLOTS];
        const size_t taken = atomic_load(&chain->taken);
        const size_t left = taken >= chain->count ? 0 : taken ? chain->count - taken : SIZE_MAX;
        if (left > most_left) best = chain, most_left = left;
    }
    return best;
}

void chains_run(Engine *engine, const char *name, ChainWork *work, const void *what) {
    engine_divides(engine, name, engine_chained(engine));
    for (size_t slot = 0; slot < SLOTS; slot++) {
        Chain *chain = &engine->chains[slot];
        atomic_store(&chain->taken, 0);
        for (size_t stage = 0; stage < CHAIN_STAGES; stage++)
            atomic_store_explicit(&chain->passed[stage], 0, memory_order_relaxed);
    }
#pragma omp parallel
    for (Chain *chain; (chain = next_chain(engine));)
        for (size_t index; (index = atomic_fetch_add(&chain->taken, 1)) < chain->count;)
            work(engine, (Link){chain, index}, chain->tasks[index], what);
}

static bool has_turn(Link link, size_t stage) {
    return !link.chain ||
           atomic_load_explicit(&link.chain->passed[stage], memory_order_acquire) == link.index;
}

void link_wait(Link link, size_t stage) {
    for (int looks = 0; !has_turn(link, stage); looks++)
        if (looks > PATIENCE) sched_yield();
}

void link_pass(Link link, size_t stage) {
    if (link.chain)
        atomic_store_explicit(&link.chain->passed[stage], link.index + 1, memory_order_release);
}

void place_wait(const Place *at, size_t stage, Phase around) {
    if (has_turn(at->link, stage)) return;
    const double start = seconds_now();
    link_wait(at->link, stage);
    at->scratch->seconds[around] -= seconds_now() - start;
}
