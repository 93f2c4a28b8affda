/* What the tests of compiled graphs share: inputs, fetched values, running a replica program. */
#ifndef CSE_TESTS_SUPPORT_COMPILED_GRAPH_H
#define CSE_TESTS_SUPPORT_COMPILED_GRAPH_H

#include "engine/code/execute/execute.h"

/* Appends an input of the microbatch. */
cse_node *fixture_input(cse_graph *graph, const char *name, cse_shape shape, cse_dtype dtype);

/* Fetches the sum over the batch of a batch-level value, or a step-level value as it is. */
void fixture_fetch(cse_graph *graph, const char *name, cse_node *value);

/* Runs every pass; `disable` as in CSE_DISABLE. Fails the test with the message. */
void fixture_passes(cse_graph *graph, const char *disable);

/* Compiles into a temporary directory that fixture_remove_directories removes, and opens it. */
cse_executable *fixture_compile(const cse_graph *graph);
void fixture_remove_directories(void);
/* Removes a directory with everything in it. */
void fixture_remove_tree(const char *path);

/* Memory of every space, zeroed. */
typedef struct fixture_memory {
    unsigned char *base[CSE_SPACE_COUNT];
} fixture_memory;

void fixture_memory_init(fixture_memory *memory, const cse_graph *graph);
void fixture_memory_clear(fixture_memory *memory);
cse_frame fixture_frame(const fixture_memory *memory);

/* A float in [low, high) from (key, index). */
double fixture_random(uint64_t key, uint32_t index, double low, double high);

/* One microbatch through REPLICA, its terms taken as the sums, then WEIGHTS. */
void fixture_run(cse_executable *executable, const fixture_memory *memory);

#endif
