/* The step graph: what one training (or evaluation) step computes, as nodes in an arena.
 *
 * Nodes have one output each and are kept in an order in which inputs come before their users. A
 * node is either of *batch* level (it depends on the microbatch at hand and is computed once for
 * each) or of *step* level (once a step). Only `batch_sum` leads from batch to step level: the sum
 * over all microbatches of the global batch, along the fixed-order reduction tree.
 *
 * Passes annotate nodes (part, group, space, offset) and rewrite them; after the last pass the
 * graph is the plan: what runs where, in which order, on which bytes. It is saved as JSON beside
 * its code. */
#ifndef CSE_GRAPH_GRAPH_H
#define CSE_GRAPH_GRAPH_H

#include "csengine/train.h"
#include "engine/base/arena.h"
#include "engine/base/name_index.h"
#include "engine/graph/op.h"

typedef struct cse_node cse_node;
typedef struct cse_graph cse_graph;

/* The program a node belongs to, set by the partition pass. */
typedef enum cse_part {
    CSE_PART_NONE,
    CSE_PART_REPLICA, /* once a microbatch, by a replica */
    CSE_PART_WEIGHTS, /* once a step, serially: norms, factors, schedule, whole-tensor work */
    CSE_PART_UPDATE,  /* once a step, elementwise on ranges of state, in parallel and in place */
    CSE_PART_COUNT
} cse_part;

/* The memory a stored value lives in, set by the memory_plan pass. Offsets are bytes, multiples
 * of 64. */
typedef enum cse_space {
    CSE_SPACE_NONE,     /* not stored: local to its group's loop */
    CSE_SPACE_STATE,    /* weights, optimizer state, counters: shared, written by UPDATE alone */
    CSE_SPACE_INPUT,    /* the microbatch in its ring slot */
    CSE_SPACE_REPLICA,  /* a replica's own workspace */
    CSE_SPACE_PARTIAL,  /* this microbatch's terms of the sums over the batch */
    CSE_SPACE_REDUCED,  /* the same layout, summed over all microbatches */
    CSE_SPACE_WEIGHTS,  /* results of the WEIGHTS part, read by UPDATE */
    CSE_SPACE_FETCH,    /* values handed to step closures */
    CSE_SPACE_CONSTANT, /* constants that are no scalars */
    CSE_SPACE_LENT,     /* the memory of PARTIAL: values that end before a sum is written there */
    CSE_SPACE_COUNT
} cse_space;

/* What the model's code requests for a node's number formats, set while tracing; nodes that compute
 * its gradient, and nodes that it expands to, inherit it. */
typedef struct cse_precision_request {
    bool graphamp_off; /* GraphAMP leaves its types as they are written */
    bool observes;     /* GraphAMP gives it what is stored, and stores nothing else for its sake */
    /* Precision optimization level of the forward and the backward pass, plus 1; 0: the model's. */
    uint8_t pol_forward, pol_backward;
} cse_precision_request;

/* Values that no program needs, which are computed beside it for who looks at them
 * (engine/graph/passes/beside.h). */
typedef enum cse_beside {
    CSE_BESIDE_NOT,
    CSE_BESIDE_VALUE,
    CSE_BESIDE_DIFFERENCE, /* how far what follows from such values is from the program's own */
    CSE_BESIDE_COUNT
} cse_beside;

/* How the long sum inside a node (a product's, a norm's, a softmax's) accumulates, set by the
 * precision pass: float32 throughout, or float32 within tiles of `tile_length` terms and rounded to
 * `across` after each tile. Rounding is only permitted unless it is emulated: else sums are
 * computed in float32. engine/graph/trace/accumulate.h defines what an emulated sum computes. */
typedef struct cse_accumulation {
    cse_dtype across;     /* float32: no rounding between tiles */
    bool stochastic;      /* `across` is rounded stochastically instead of to nearest even */
    bool emulated;        /* the rounding takes place */
    int32_t tile_length;  /* 0 with float32 */
    uint32_t stream;      /* of the random numbers of stochastic rounding */
    cse_dtype arithmetic; /* of a composite, if emulated: the type of each result inside */
} cse_accumulation;

struct cse_node {
    uint32_t id; /* position of creation; unique in its graph, kept by passes */
    const cse_op *op;
    int input_count;
    cse_node **inputs;
    cse_attributes attributes;
    cse_shape shape;
    cse_dtype dtype;
    bool batch;        /* batch level (else step level) */
    bool backward;     /* made by autodiff */
    const char *scope; /* dotted: "model.fc_layers.0"; "" at the top */
    const char *file;  /* where the model's code called; NULL when unknown */
    int line;
    cse_module_class module_class;
    cse_precision_request request;
    int recompute_block; /* the CSE_RECOMPUTE block that it was traced in, from 1; 0: in none */
    const cse_node *gradient_of; /* the forward node whose gradient it computes; NULL: none */
    const cse_op *part_of;       /* the composite op it was expanded from; NULL: none */
    const char *label; /* its name inside of its scope, in place of the op's; NULL: none */
    cse_beside beside;

    /* Annotations of passes. */
    cse_accumulation accumulation;
    const char *precision_reason; /* static text: why it has its class; NULL before the pass */
    cse_precision_class precision_class;
    bool inserted_cast; /* by the precision pass */
    /* A copy that the recompute pass made for the backward pass: the region it is of, from 1, in
     * the order of the forward pass; 0: no copy. */
    int recomputed;
    cse_part part;
    int group; /* index in graph->groups, -1 before fusion and for nodes without code */
    cse_space space;
    int64_t offset_bytes;
    int tracked;          /* 1 + its index in graph->tracked; 0: no statistics */
    int64_t scratch;      /* for any one pass at a time */
    cse_node *forward_to; /* set by cse_graph_replace; resolved by cse_graph_compact */
};

/* A value that is carried from step to step. */
typedef struct cse_state_entry {
    const char *name; /* dotted: "model.fc_layers.0.weight" */
    cse_shape shape;
    cse_dtype dtype; /* float32, bfloat16 or int32 */
    cse_initializer initializer;
    bool trainable;
    cse_node *read;       /* the `state` node: its value before the step; NULL when never read */
    cse_node *next;       /* its value after the step; NULL when it does not change */
    int64_t offset_bytes; /* in CSE_SPACE_STATE, set when the state is added */
    /* A tensor of constants: its values, in place of `initializer`. Borrowed; NULL in a graph that
     * was read from a file, whose reader gets the values with all other states. */
    const void *constant;
} cse_state_entry;

/* One tensor of a microbatch, as input functions deliver it. */
typedef struct cse_input_entry {
    const char *name;
    cse_shape shape; /* [micro_batch_size, ...] */
    cse_dtype dtype;
    cse_node *node;
    int64_t offset_bytes; /* in CSE_SPACE_INPUT */
    /* Of int32 values that ops take as indices (engine/graph/trace/input_range.h): they must be
     * from 0 below `index_count` (0: any value is good), or `index_ignored` (0: no other). */
    int64_t index_count;
    int64_t index_ignored;
    const char *index_use; /* what has that number: "vocab_size of model.embedding_layer" */
} cse_input_entry;

/* Outputs whose gradient a callback traces, in place of the rules of the ops that computed them. */
typedef struct cse_custom_entry {
    cse_custom_function function; /* its arrays live in the graph's arena */
    cse_node **nodes;             /* the `custom` node of each output */
} cse_custom_entry;

/* One argument of a step closure (or a logged value). */
typedef struct cse_fetch_entry {
    const char *name;
    cse_node *value;      /* step level */
    int64_t offset_bytes; /* in CSE_SPACE_FETCH */
} cse_fetch_entry;

/* One sum over the microbatches, set up by the partition pass. */
typedef struct cse_reduction_entry {
    cse_node *partial;    /* REPLICA: stores this microbatch's term */
    cse_node *sum;        /* the batch_sum node, which has no input any more */
    int64_t offset_bytes; /* in CSE_SPACE_PARTIAL and CSE_SPACE_REDUCED alike */
} cse_reduction_entry;

/* A tensor whose statistics (engine/code/execute/tensor_statistics.h) some steps record, set up by
 * the numerics pass. */
typedef enum cse_tracked_kind {
    CSE_TRACKED_VALUE,    /* named by the request */
    CSE_TRACKED_CAST,     /* rounded to 16 bits: a cast, or an op that stores its result so */
    CSE_TRACKED_GRADIENT, /* of a parameter: of each microbatch, and their sum */
    CSE_TRACKED_STATE,    /* its value before the step and its update */
    CSE_TRACKED_COUNT
} cse_tracked_kind;

typedef struct cse_tracked_tensor {
    cse_tracked_kind kind;
    const char *name; /* unique: "model.fc_layers.0.matmul", a state's name */
    const char *op;   /* the op that the model's code called */
    cse_dtype source; /* what was rounded to the node's type; that type where nothing was */
    cse_node *node;   /* GRADIENT: the partial; STATE: the assign; else where it is computed */
    /* STATE whose update is `kept` = state - `delta`: an element that stays the same although its
     * delta is not zero was lost to rounding. NULL for other updates. */
    cse_node *kept, *delta;
    /* Where the statistics program puts values before rounding; -1: it reads what is stored. */
    int64_t scratch_offset;
    bool whole; /* its values are kept as well (engine/code/execute/value_log.h) */
    cse_beside beside;
} cse_tracked_tensor;

/* Which tensors the numerics pass tracks. */
typedef struct cse_numerics_request {
    int64_t every; /* steps from one step with statistics to the next */
    const char *const *patterns, *const *origins; /* of names or scopes; "file:line:column" */
    int pattern_count;
    /* A regular expression of names, or of ends of them behind a dot (engine/base/pattern.h): all
     * values of these are kept, not their statistics alone. NULL: of none. */
    const char *values;
    const char *microbatches; /* "3,17": values of these alone, from 0; NULL: of all */
} cse_numerics_request;

/* Which activations the recompute pass drops after the forward pass. */
typedef struct cse_recompute_request {
    const char *const *patterns, *const *origins; /* of scopes; "file:line:column" */
    int pattern_count;
    int64_t memory_limit_bytes; /* of a replica's workspace; 0: all regions are recomputed */
} cse_recompute_request;

/* What runs as one piece of code: a fused loop, a block, or a library call with its epilogue. */
typedef enum cse_group_kind { CSE_GROUP_LOOP, CSE_GROUP_BLOCK, CSE_GROUP_LIBRARY } cse_group_kind;

typedef struct cse_group {
    cse_group_kind kind;
    cse_part part;
    /* Inputs before users. The last one is the result of a LIBRARY group; of an op with several
     * results, each node is one. */
    cse_node **nodes;
    int node_count;
    /* UPDATE groups: elements of each state the group assigns (all the same), and the position of
     * its first line in the concatenation of all groups' lines (CSE_LINE_ELEMENTS each). */
    int64_t elements, first_line;
    /* REPLICA, with several microbatches: the group depends on states and the step alone. Such
     * groups come first; a process runs them with its first microbatch of a step, and their results
     * stay in its workspace for the others. Set by the order pass. */
    bool per_step;
} cse_group;

/* A line is a block of a moment in 8 bits (ops/blockwise.h). */
enum { CSE_LINE_ELEMENTS = 256, CSE_MAX_ASSIGNS = 8 };

/* The order in which a product's terms are summed; engine/code/kernels/matmul_tiles.h defines
 * them. */
typedef enum cse_product_order {
    CSE_PRODUCT_ORDER_OPEN, /* not chosen: each kernel takes the default of its machine */
    CSE_PRODUCT_ORDER_CHAIN,
    CSE_PRODUCT_ORDER_PAIRS,
    CSE_PRODUCT_ORDER_DOT,
    CSE_PRODUCT_ORDER_COUNT
} cse_product_order;

struct cse_graph {
    cse_arena *arena;
    cse_node **nodes;
    int node_count, node_capacity;
    cse_state_entry *states;
    int state_count, state_capacity;
    cse_name_index state_names; /* of those that cse_graph_add_state has added */
    cse_input_entry *inputs;
    int input_count, input_capacity;
    cse_fetch_entry *fetches;
    int fetch_count, fetch_capacity;
    cse_custom_entry *customs; /* while tracing; autodiff takes their nodes away */
    int custom_count, custom_capacity;
    bool differentiating;              /* autodiff runs */
    struct cse_quotient *quotients;    /* while tracing: engine/graph/ops/loss_quotient.h */
    struct cse_loss_parts *loss_parts; /* those that were asked for */
    cse_reduction_entry *reductions;
    int reduction_count, reduction_capacity;
    cse_node **beside; /* computed although nothing reads them, until fusion has placed them */
    int beside_count, beside_capacity;
    cse_group *groups; /* in the order they run within their part */
    int group_count, group_capacity;
    cse_tracked_tensor *tracked; /* in the order of execution; states first */
    int tracked_count, tracked_capacity;
    int64_t statistics_scratch_bytes;       /* working memory of a statistics program */
    const cse_numerics_request *numerics;   /* NULL: no statistics. Borrowed */
    const cse_recompute_request *recompute; /* NULL: the model's own blocks alone. Borrowed */
    int recompute_blocks;                   /* CSE_RECOMPUTE blocks that were entered */
    int64_t micro_batch_size;
    const struct cse_precision
        *precision;       /* what the precision pass does; NULL: nothing. Borrowed */
    int microbatch_count; /* M: microbatches in the global batch */
    bool portable;        /* the bits are to be the same on every kind of machine */
    bool sums_samples;    /* gradients are to be the same whatever micro_batch_size is */
    bool streams_states;  /* no value that depends on states alone is kept for a whole step */
    bool uneven; /* while tracing: the same values are taken of batches of another size, too */
    /* While tracing (engine/graph/ops/decoding.h); NULL: the pass sees whole sequences.
     * Borrowed. */
    const struct cse_decoding *decoding;
    /* Of products of two bfloat16 operands; set by the fusion pass (product_order.h chooses). */
    cse_product_order product_order;
    /* The instruction set that kernels and generated code were chosen by (instruction_set.h), set
     * by the fusion pass too; NULL or "": not chosen. */
    const char *isa;
    int64_t space_bytes[CSE_SPACE_COUNT];
    uint32_t next_id;
    cse_status error; /* the first failure while tracing; sticky */
    char *error_message;
    cse_node *poison; /* returned after a failure */
};

/* `microbatch_count` microbatches of `micro_batch_size` samples make the global batch. */
cse_graph *cse_graph_new(int microbatch_count, int64_t micro_batch_size);
void cse_graph_destroy(cse_graph **graph);

/* The values a node is computed from. */
typedef struct cse_operands {
    int count;
    cse_node *const *nodes;
} cse_operands;

/* Appends a node whose shape and type `op->infer` decides. Fails as that rule does. */
cse_status cse_graph_add(cse_graph *graph, const cse_op *op, const cse_attributes *attributes,
                         cse_operands inputs, cse_node **node);

/* Appends a node without inputs, whose shape and type are given. */
cse_node *cse_graph_leaf(cse_graph *graph, const cse_op *op, const cse_attributes *attributes,
                         cse_shape shape, cse_dtype dtype);

/* Declares a state: name, shape, type, initializer and trainable are taken from `entry`. A second
 * declaration of a name fails. */
cse_status cse_graph_add_state(cse_graph *graph, const cse_state_entry *entry, int *index);
/* Index of the state, or -1. */
int cse_graph_find_state(const cse_graph *graph, const char *name);
/* The node that reads a state as it was before the step; made at the first call. */
cse_node *cse_graph_state_node(cse_graph *graph, int index);

cse_node *cse_graph_constant(cse_graph *graph, cse_dtype dtype, double value);

/* Appends a copy of `node`, with inputs of its own and the same annotations. */
cse_node *cse_graph_clone(cse_graph *graph, const cse_node *node);

/* Every user of `old` reads `replacement` from now on (also states, fetches). The change takes
 * effect in cse_graph_compact. `replacement` must not depend on `old`. */
void cse_graph_replace(cse_node *old, cse_node *replacement);

/* Resolves replacements, drops unneeded nodes, and restores the order inputs-first (stable by
 * id). */
void cse_graph_compact(cse_graph *graph);

/* `graph` becomes what *other is, which is destroyed; its own settings (precision, numerics)
 * stay, and so do the nodes that it had until now, as long as it lives: others may point to
 * them. */
void cse_graph_take(cse_graph *graph, cse_graph **other);

/* Checks the invariants: input counts, shapes and types by the ops' rules, order, levels, and the
 * annotations that are set. Fails with CSE_INTERNAL naming the node. */
cse_status cse_graph_verify(const cse_graph *graph);

/* One line a node, with annotations that are set; no addresses or paths, for golden files. */
void cse_graph_print(const cse_graph *graph, cse_text *out);

/* The whole graph as JSON, and back. A graph that is read is verified. */
void cse_graph_to_json(const cse_graph *graph, cse_text *out);
cse_status cse_graph_from_json(const char *json, size_t size, cse_graph **graph);

/* 128-bit hash (32 hexadecimal digits) of what the graph computes: structure, attributes, states,
 * inputs, batch split; not source locations, nor the states' first values. */
void cse_graph_fingerprint(const cse_graph *graph, char digits[33]);

/* What a node computes from states, inputs and the number of the step: equal in two graphs, or of
 * two nodes, where the same ops compute it from the same names, whatever else is in the graphs. A
 * partitioned sum has that of its terms. */
typedef struct cse_node_digest {
    uint64_t words[2];
} cse_node_digest;

/* Writes graph->node_count digests; that of a node is at its `scratch`. */
void cse_graph_node_digests(const cse_graph *graph, cse_node_digest *digests);

/* Values a group reads that other groups (or the engine) provide, in the order of their first use.
 * Reshapes are looked through: what is returned is stored somewhere. Returns the count. */
int cse_group_inputs(const cse_graph *graph, const cse_group *group, cse_node *inputs[], int most);

/* The UPDATE group's nodes whose values its tracked states need: the assigned value, and `kept` and
 * `delta` if set. Returns the count. */
enum { CSE_MAX_PROPOSED = 3 * CSE_MAX_ASSIGNS };
int cse_group_proposed(const cse_graph *graph, int group, cse_node *nodes[CSE_MAX_PROPOSED]);

/* A value's storage: looks through reshapes to the node that owns the bytes. */
cse_node *cse_node_storage(cse_node *node);

/* The shape and type that the op's rule gives the node; fails where its inputs violate the rule. */
cse_status cse_node_infer(const cse_node *node, cse_shape *shape, cse_dtype *dtype);

/* Whether the node is of batch level: it spreads from inputs to users and ends at batch_sum. */
bool cse_node_is_batch(const cse_node *node);

/* A structural node that reads no other node: an input, a constant, a state, a partitioned sum. */
static inline bool cse_node_is_leaf(const cse_node *node)
{
    return node->input_count == 0 && node->op->kind == CSE_OP_STRUCTURAL;
}

static inline int64_t cse_node_bytes(const cse_node *node)
{
    return cse_shape_elements(node->shape) * (int64_t)cse_dtype_size(node->dtype);
}

/* Rounded up to a multiple of 64, as all offsets are. */
static inline int64_t cse_aligned_bytes(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Lines of an UPDATE group, in each of the states it assigns. */
static inline int64_t cse_group_lines(const cse_group *group)
{
    return (group->elements + CSE_LINE_ELEMENTS - 1) / CSE_LINE_ELEMENTS;
}

/* The bytes [bytes[0], bytes[1]) of a value that belong to lines [lines[0], lines[1]) of an UPDATE
 * group: of as many elements as the group has, or of its moments in blocks, a block a line. */
void cse_group_line_bytes(const cse_group *group, const cse_node *node, const int64_t lines[2],
                          int64_t bytes[2]);

/* Whether the node's sum is rounded between tiles: emulated, not only permitted. */
static inline bool cse_node_is_tiled(const cse_node *node)
{
    return node->accumulation.emulated && node->accumulation.across != CSE_FLOAT32;
}

/* Which of its op's results the node is; -1 for an op of one result. */
static inline int cse_node_result(const cse_node *node)
{
    const cse_attributes *a = &node->attributes;
    return node->op->kernel.results > 1 ? (int)a->integers[a->integer_count - 1] : -1;
}

/* Structural ops, placed by the tracing API and by passes:
 *
 *   input         a tensor of the microbatch; integers[0] is its entry in graph->inputs
 *   constant      numbers[0]; a scalar
 *   state         a state's value before the step; integers[0] is its entry in graph->states
 *   step_number   int32 scalar, from 0
 *   sample_index  int32 [micro_batch_size]: position of each sample in the global batch
 *   gradient      of a loss with respect to a state; autodiff replaces it
 *   custom        its first input, whose gradient a callback traces; integers[0] is its entry in
 *                 graph->customs, integers[1] which output it is; autodiff replaces it
 *   batch_sum     the sum of its input over all microbatches; partition takes its input away, after
 *                 which its value is in REDUCED
 *   partial       REPLICA: stores its input as this microbatch's term of the batch_sum that has the
 *                 same integers[0]
 *   assign        UPDATE: stores its input as the next value of state integers[0]
 *   fetch         WEIGHTS: stores its input as fetched value integers[0]
 *   materialize   WEIGHTS: stores its input for UPDATE groups
 *
 * The last four are elementwise identities, so that they can end fused loops. */
extern const cse_op cse_op_input, cse_op_constant, cse_op_state, cse_op_step_number,
    cse_op_sample_index, cse_op_gradient, cse_op_custom, cse_op_batch_sum, cse_op_partial,
    cse_op_assign, cse_op_fetch, cse_op_materialize;

#endif
