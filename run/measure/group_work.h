/* What a group of the plan has to do: its floating-point operations and its bytes, from shapes
 * alone. What it could do in the least time follows from them and from the machine's limits. */
#ifndef CSE_RUN_MEASURE_GROUP_WORK_H
#define CSE_RUN_MEASURE_GROUP_WORK_H

#include "engine/graph/graph.h"

/* Which part of a step a group belongs to. */
typedef enum cse_work_class {
    CSE_WORK_PRODUCT,           /* products with weights, convolutions */
    CSE_WORK_ATTENTION_PRODUCT, /* products of activations with each other, fused attention */
    CSE_WORK_ATTENTION,         /* what reads their results: masks, softmax, heads */
    CSE_WORK_REST,              /* norms, activations, loss, casts, update */
    CSE_WORK_CLASS_COUNT
} cse_work_class;

/* "product", for tables and JSON. */
const char *cse_work_class_name(cse_work_class work_class);

enum { CSE_IMPLEMENTATION_BYTES = 48, CSE_WORK_SIZES_BYTES = 96 };

typedef struct cse_group_work {
    cse_work_class work_class;
    /* Of products: a multiplication and an addition for each term (where a kernel leaves out terms
     * that are known to be 0, as in causal attention, what it says it computes). */
    double product_flop;
    /* Of all else: one for each element that an elementwise op gives, that a reduction or a pooling
     * reads; none for casts and moves. A transcendental counts as one, though it takes many. */
    double other_flop;
    int64_t bytes;                                 /* as cse_group_bytes counts */
    cse_dtype operands[2];                         /* of the product; float32 without one */
    char implementation[CSE_IMPLEMENTATION_BYTES]; /* as its kernel calls it; "" without one */
    /* Of a matrix product "2048x384x1536", with "48*" before it for a batch; else the shape of the
     * result, "[2048, 384]". */
    char sizes[CSE_WORK_SIZES_BYTES];
} cse_group_work;

/* Stored values that one run of the group reads and writes, each once. Of a table that is read by
 * index: only as many bytes as come out of it. */
int64_t cse_group_bytes(const cse_graph *graph, const cse_group *group);

/* One run of the group; of an UPDATE group, over all its lines. */
void cse_group_work_of(const cse_graph *graph, const cse_group *group, cse_group_work *work);

#endif
