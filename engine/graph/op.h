/* The contract of an op: everything the engine knows about it, in one descriptor.
 *
 * An op's file in engine/ops holds its public tracing function (with its doc comment), its shape
 * rule, its gradient, how it is computed (reference kernel; expression, block, expansion or library
 * call) and samples for the tests; the descriptor ends the file. Ops that only the engine itself
 * places in a graph (states, inputs, reductions over microbatches) are in
 * engine/graph/structural_ops.c. */
#ifndef CSE_GRAPH_OP_H
#define CSE_GRAPH_OP_H

#include "csengine/tensor.h"
#include "engine/base/text.h"

enum { CSE_MAX_INPUTS = 16, CSE_MAX_INTEGERS = 24, CSE_MAX_NUMBERS = 4 };

/* Everything about a node besides its inputs. Each op says in its file which entry means what. */
typedef struct cse_attributes {
    int integer_count, number_count;
    int64_t integers[CSE_MAX_INTEGERS];
    double numbers[CSE_MAX_NUMBERS];
    const char *text; /* a name, or NULL */
} cse_attributes;

/* How an op becomes code. */
typedef enum cse_op_kind {
    /* One output element from the same element of each input: `expression`. Fused freely. */
    CSE_OP_ELEMENTWISE,
    /* Sum or maximum over axes: integers[0] is keep_dims, the axes follow. Fused as the end of a
     * loop over the last or the first axes, else emitted by `emit`. `expression` combines the
     * accumulator $0 with the next value $1; numbers[0] of the descriptor's `initial` starts it. */
    CSE_OP_REDUCE,
    /* The input read with other strides: no arithmetic, fused as an index map. */
    CSE_OP_BROADCAST,
    /* The same bytes under another shape: never code. */
    CSE_OP_RESHAPE,
    /* A block of C of its own, written by `emit`. */
    CSE_OP_BLOCK,
    /* Computed by a kernel of engine/kernels (matrix products, convolutions, pooling). */
    CSE_OP_LIBRARY,
    /* Stands for a few other ops: `expand` traces them. Keeps its own gradient rule. */
    CSE_OP_COMPOSITE,
    /* No code: its value is found at a place the engine knows. */
    CSE_OP_STRUCTURAL,
} cse_op_kind;

/* GraphAMP's sets. An op's own class places it where engine/precision/presets.c does not name it.
 */
typedef enum cse_precision_class { CSE_DENY, CSE_INFER, CSE_ALLOW } cse_precision_class;

/* What a shape rule sees. */
typedef struct cse_infer {
    const cse_attributes *attributes;
    int input_count;
    const cse_shape *shapes;
    const cse_dtype *dtypes;
} cse_infer;

/* What a reference kernel sees: contiguous row-major values, one pointer an input. */
typedef struct cse_reference {
    const cse_tensor *node;
    const void *const *inputs;
    void *output;
    uint64_t seed; /* of the run; for random ops */
    int64_t step;
    int64_t first_element; /* number in the whole tensor of the first element given (ops with $n) */
    int64_t first_sample;  /* position of the microbatch's first sample in the global batch */
} cse_reference;

/* A case that an op is tested and timed with. Inputs are drawn uniformly from [low, high]; integers
 * from [low, high) . */
typedef struct cse_sample_input {
    cse_shape shape;
    cse_dtype dtype;
    double low, high; /* both 0: -1 and 1 for floats, 0 and 2 for integers and bools */
} cse_sample_input;

typedef struct cse_op_sample {
    const char *name; /* NULL ends the list */
    cse_sample_input inputs[6];
    int input_count;
    cse_attributes attributes;
    /* Bound on |compiled - reference| relative to max(1, |reference|), with the reason beside it;
     * 0 asks for equal bits. */
    double tolerance;
    bool skip_gradient; /* where finite differences have no meaning (kinks, integers) */
} cse_op_sample;

typedef struct cse_op {
    const char *name;
    const char *summary;
    cse_op_kind kind;
    cse_precision_class precision;
    int min_inputs, max_inputs;

    /* Output shape and type, or cse_fail(CSE_SHAPE, ...) saying what is expected. Required. */
    cse_status (*infer)(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);

    /* Traces the gradients of a scalar with respect to the inputs, given that with respect to the
     * output: sets gradients[i], or leaves NULL where there is none. NULL: not differentiable. */
    void (*gradient)(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[]);

    /* Straightforward C; the oracle and the fallback. Required except for reshape, structural ops.
     * Sums are carried in double. */
    void (*reference)(const cse_reference *call);

    /* ELEMENTWISE and REDUCE: a C expression over $0, $1, ... (inputs; float, int32_t or bool as
     * _Bool), $a0.. (integers), $f0.. (numbers), $i (index along the last axis), $n (flat index of
     * the output element, int64_t), $seed, $step. It may call the functions of
     * engine/codegen/prelude.h. */
    const char *expression;
    double initial; /* REDUCE: what the accumulator starts from */

    /* BLOCK, and REDUCE over axes that do not fuse: writes a C block that fills `y` from `x0`,
     * `x1`,
     * ... (pointers to contiguous values of the nodes' types, declared by the caller). */
    void (*emit)(cse_text *out, const cse_tensor *node);

    /* COMPOSITE: traces the ops it stands for and returns their result. */
    cse_tensor *(*expand)(cse_tensor *node);

    const cse_op_sample *samples; /* ended by a NULL name; NULL for structural ops */
} cse_op;

/* A named op of engine/ops or a structural one; NULL when there is none. */
const cse_op *cse_op_find(const char *name);

/* The one op of engine/ops that passes place by themselves. */
extern const cse_op cse_op_cast;

/* engine/ops, in name order, ended by NULL; written by autogen.sh. */
extern const cse_op *const cse_ops[];

#endif
