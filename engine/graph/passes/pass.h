/* Passes: graph -> graph, in one ordered list (pipeline.c).
 *
 * Each pass is verified after it ran, can be printed after (`csengine compile --print-after=NAME`)
 * and switched off by name (CSE_DISABLE=fusion,simplify): it is then called with `enabled` false
 * and does only what later passes require (fusion: one group a node; order: as traced; memory_plan:
 * no sharing). A pass without such a minimum cannot be switched off. */
#ifndef CSE_PASSES_PASS_H
#define CSE_PASSES_PASS_H

#include "engine/graph/graph.h"

typedef struct cse_pass {
    const char *name;
    const char *summary;
    cse_status (*run)(cse_graph *graph, bool enabled);
    bool required; /* cannot be switched off */
} cse_pass;

/* In order, ended by a NULL name. */
extern const cse_pass cse_passes[];

typedef struct cse_passes_options {
    /* Comma-separated names to switch off; NULL: the environment's CSE_DISABLE. */
    const char *disable;
    /* Called after each pass; may be NULL. */
    void (*after)(void *self, const cse_pass *pass, const cse_graph *graph);
    void *self;
} cse_passes_options;

/* Runs the whole list. Fails with the tracing error if there is one, with CSE_CONFIG for an unknown
 * or required name in `disable`, or as a pass or the verifier says. `options` may be NULL. */
cse_status cse_passes_run(cse_graph *graph, const cse_passes_options *options);

/* Everything besides the traced graph that decides what the passes make of it: the passes that are
 * switched off, the settings of precision and the tensors that statistics are asked of. For the key
 * of a compiled step. */
void cse_passes_describe(const cse_graph *graph, const cse_passes_options *options, cse_text *out);

/* How many values an input of a traced graph may have as an index, which the pass below notes: the
 * least number of those that take it as one, and what that is. 0: nothing does. */
int64_t cse_input_index_count(const cse_graph *graph, int input, const char **user);

cse_status cse_pass_input_indices(cse_graph *graph, bool enabled);
cse_status cse_pass_autodiff(cse_graph *graph, bool enabled);
cse_status cse_pass_attention(cse_graph *graph, bool enabled);
cse_status cse_pass_precision(cse_graph *graph, bool enabled);
cse_status cse_pass_expand(cse_graph *graph, bool enabled);
cse_status cse_pass_sample_sums(cse_graph *graph, bool enabled);
cse_status cse_pass_simplify(cse_graph *graph, bool enabled);
cse_status cse_pass_packed_weights(cse_graph *graph, bool enabled);
cse_status cse_pass_row_pieces(cse_graph *graph, bool enabled);
cse_status cse_pass_recompute(cse_graph *graph, bool enabled);
cse_status cse_pass_partition(cse_graph *graph, bool enabled);
cse_status cse_pass_fusion(cse_graph *graph, bool enabled);
cse_status cse_pass_order(cse_graph *graph, bool enabled);
cse_status cse_pass_memory_plan(cse_graph *graph, bool enabled);
cse_status cse_pass_numerics(cse_graph *graph, bool enabled);

#endif
