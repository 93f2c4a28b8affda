/* The contract of an op: everything the engine knows about it, in one descriptor.
 *
 * An op's file holds its tracing function, its shape rule, its gradient, how it is computed
 * (reference kernel; expression, block or expansion) and samples for the tests; the descriptor ends
 * the file. */
#ifndef CSENGINE_OP_H
#define CSENGINE_OP_H

#include "csengine/op_options.h"
#include "csengine/plugin.h"
#include "csengine/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. */
enum { CSE_OP_ABI = 2 };

/* Generated code that grows. */
typedef struct cse_text cse_text;

enum { CSE_MAX_INPUTS = 16, CSE_MAX_INTEGERS = 24, CSE_MAX_NUMBERS = 4, CSE_MAX_RESULTS = 3 };

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
     * accumulator $0 with the next value $1; `initial` starts it. */
    CSE_OP_REDUCE,
    /* The input read with other strides: no arithmetic, fused as an index map. */
    CSE_OP_BROADCAST,
    /* The same bytes under another shape: never code. */
    CSE_OP_RESHAPE,
    /* A block of C of its own, written by `emit`. */
    CSE_OP_BLOCK,
    /* Computed by a kernel of the engine (matrix products, convolutions, pooling). Only for ops of
     * the engine: a kernel is chosen by measurements and tests that lie in its tree. */
    CSE_OP_LIBRARY,
    /* Stands for a few other ops: `expand` traces them. Keeps its own gradient rule. */
    CSE_OP_COMPOSITE,
    /* No code: its value is stored by the engine. Only for ops of the engine. */
    CSE_OP_STRUCTURAL,
} cse_op_kind;

/* How passes, kernels and emitters recognise an op where its kind does not say enough. */
typedef enum cse_op_role {
    CSE_OP_ROLE_NONE,
    CSE_OP_ROLE_ADD,      /* inputs[0] + inputs[1]; of a bias: epilogue of a product */
    CSE_OP_ROLE_SUBTRACT, /* inputs[0] - inputs[1] */
    CSE_OP_ROLE_RELU,     /* the larger of inputs[0] and 0 */
    CSE_OP_ROLE_SELECT,   /* inputs[1] where inputs[0] holds, else inputs[2] */
    CSE_OP_ROLE_CAST,     /* inputs[0] in another type */
    CSE_OP_ROLE_SUM,      /* of a REDUCE: adds */
    CSE_OP_ROLE_MAX,      /* of a REDUCE: keeps the larger */
    CSE_OP_ROLE_STORE,    /* an elementwise identity whose result has its own storage */
} cse_op_role;

/* GraphAMP's sets: `allow` rounds its inputs to the 16-bit format, `infer` follows its readers,
 * `deny` keeps the types it is written with. */
typedef enum cse_precision_class { CSE_DENY, CSE_INFER, CSE_ALLOW } cse_precision_class;

/* How rounding its inputs affects an op. GraphAMP's presets give a set to each family; POL rounds
 * the sums of some of them (docs/precision.md). */
typedef enum cse_precision_family {
    CSE_FAMILY_STRUCTURAL, /* inputs, states, results: the engine fixes their types */
    CSE_FAMILY_CAST,       /* the types it is written with are its meaning */
    CSE_FAMILY_FLOAT32,    /* always float32: not made from floats, or added into a table */
    CSE_FAMILY_PRODUCT,    /* sums of products, which are exact in float32 */
    CSE_FAMILY_MOVEMENT,   /* no arithmetic: commutes with rounding */
    CSE_FAMILY_NEUTRAL,    /* at most one rounding, or a choice of values */
    CSE_FAMILY_SENSITIVE,  /* magnifies errors or range: powers, logarithms, quotients */
    CSE_FAMILY_REDUCTION,  /* long sums */
    CSE_FAMILY_SOFTMAX,
    CSE_FAMILY_NORM,
    CSE_FAMILY_LOSS,
    CSE_FAMILY_COUNT,
} cse_precision_family;

/* Makes the kernel of a LIBRARY op. CSE_UNAVAILABLE when there is none for these shapes and
 * types. */
struct cse_kernel;
struct cse_kernel_plan;
typedef cse_status cse_kernel_maker(const struct cse_kernel_plan *plan, struct cse_kernel **kernel);

/* The library kernels of an op. */
typedef struct cse_op_kernel {
    cse_kernel_maker *make;
    cse_kernel_maker *make_tiled; /* for emulated accumulation, or NULL */
    /* Types that `make` computes itself; for others, operands are widened to float32. The last: any
     * type, and to a rounded result in bfloat16 its epilogue adds a bias of that type. */
    enum {
        CSE_KERNEL_FLOAT32,
        CSE_KERNEL_BFLOAT16_TOO,
        CSE_KERNEL_ANY_FLOAT,
        CSE_KERNEL_ANY_FLOAT_AND_BIAS
    } types;
    /* Axis, counted from the right (1: the last), along which a bias may be added in the epilogue,
     * then relu; 0: takes neither. */
    int bias_axis;
    /* Results that one run computes; 0: one. A node is one of them, and its last integer says
     * which. Nodes that differ in that alone share a run. */
    int results;
} cse_op_kernel;

/* That inputs[1] holds indices: of rows of a table, of classes. */
typedef struct cse_op_indices {
    int64_t (*count)(const cse_tensor *node); /* they are below this; NULL: no indices */
    const char *name;                         /* of that number, as people know it: "vocab_size" */
    /* An index that is accepted besides, since it has a meaning; NULL: none is. */
    int32_t (*ignored)(const cse_tensor *node);
} cse_op_indices;

/* The arguments of a shape rule. */
typedef struct cse_infer {
    const cse_attributes *attributes;
    int input_count;
    const cse_shape *shapes;
    const cse_dtype *dtypes;
} cse_infer;

/* The arguments of a reference kernel: contiguous row-major values, one pointer an input. */
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
 * from [low, high). */
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
    cse_op_role role;
    cse_precision_family precision;
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
     * the output element, int64_t), $seed, $step. It may call those functions of the engine that
     * docs/your_plugins.md lists (cse_exp, cse_tanh, ...). */
    const char *expression;
    /* ELEMENTWISE ops of one or two inputs: the same in double, for cse_reference_elementwise. */
    double (*unary)(double x);
    double (*binary)(double a, double b);
    double initial; /* REDUCE: what the accumulator starts from */

    /* BLOCK, and REDUCE over axes that do not fuse: writes a C block that fills `y` from `x0`,
     * `x1`, ... (pointers to contiguous values of the nodes' types, declared by the caller). */
    void (*emit)(cse_text *out, const cse_tensor *node);

    /* BLOCK, LIBRARY: 1 + the input that the result may overwrite, element by element, in a node
     * that has that many inputs; 0: none. */
    int updates;

    /* LIBRARY: the kernels that compute it. */
    cse_op_kernel kernel;

    /* A value with the same bits as the node's that replaces it, mostly one of its inputs, or NULL.
     * May instead rewrite the node's inputs and attributes. NULL: no such rule. */
    cse_tensor *(*simplify)(cse_tensor *node);

    /* Whether the node exchanges the last two axes of its input and does nothing else: a product
     * can read that input transposed. NULL: never. */
    bool (*is_matrix_transpose)(const cse_tensor *node);

    /* Number of terms in the longest sum inside the node, for the length of tiles. NULL: the size
     * of the first input's last axis. */
    int64_t (*summed_terms)(const cse_tensor *node);

    /* Inputs of the step that reach it unchanged are checked against this before the step. */
    cse_op_indices indices;

    /* COMPOSITE: traces the ops it stands for and returns their result. */
    cse_tensor *(*expand)(cse_tensor *node);

    const cse_op_sample *samples; /* ended by a NULL name; NULL for structural ops */
} cse_op;

/* ---- what an op's functions are written with ---- */

/* The inputs and the attributes of a traced node; borrowed. No such input: NULL. */
CSE_API cse_tensor *cse_tensor_input(const cse_tensor *tensor, int index);
CSE_API int cse_tensor_input_count(const cse_tensor *tensor);
CSE_API const cse_attributes *cse_tensor_attributes_view(const cse_tensor *tensor);

/* Adds a node for `op` to the step that is traced; `attributes` may be NULL. An op's public
 * function is this call. Inputs that are NULL or poisoned give a poisoned handle, and so does a
 * failure of the shape rule, which compiling reports. */
CSE_API cse_tensor *cse_trace(const cse_op *op, const cse_attributes *attributes, int input_count,
                              cse_tensor *const inputs[]);

/* Shape rules of elementwise ops: all inputs have one shape and one type, which are the output's.
 * Floats only, floats and int32, or int32 only. */
CSE_API cse_status cse_infer_floats(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);
CSE_API cse_status cse_infer_numbers(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);
CSE_API cse_status cse_infer_integers(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);
/* Two numbers of one shape and type give a bool; bools give a bool. */
CSE_API cse_status cse_infer_comparison(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);
CSE_API cse_status cse_infer_logical(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);

/* The reference kernel of an elementwise op: `unary` or `binary` of the node's op on each element.
 * Integers are exact up to 2^53 and wrap to int32. */
CSE_API void cse_reference_elementwise(const cse_reference *call);

/* Elements of a tensor of any type as doubles: exact both ways for values the type can hold;
 * writing rounds to nearest even (floats), wraps (int32) or tests against 0 (bool). */
CSE_API double cse_read_other_element(cse_dtype dtype, const void *values, int64_t index);
CSE_API void cse_write_other_element(cse_dtype dtype, void *values, int64_t index, double value);

/* Inline for float32, so that reference kernels are not slower than needed. */
static inline double cse_read_element(cse_dtype dtype, const void *values, int64_t index)
{
    if (dtype == CSE_FLOAT32)
        return ((const float *)values)[index];
    return cse_read_other_element(dtype, values, index);
}

static inline void cse_write_element(cse_dtype dtype, void *values, int64_t index, double value)
{
    if (dtype == CSE_FLOAT32)
        ((float *)values)[index] = (float)value;
    else
        cse_write_other_element(dtype, values, index, value);
}

/* Adds to the code that `emit` writes. */
CSE_API void cse_text_add(cse_text *text, const char *format, ...) CSE_PRINTF(2, 3);
/* In emitted code: the function that converts a stored element to a value, as in
 * "cse_load_float16", and its inverse; "" for types that need no conversion. */
CSE_API const char *cse_emitted_load(cse_dtype dtype);
CSE_API const char *cse_emitted_store(cse_dtype dtype);

/* ---- short forms for samples ---- */

#define CSE_COUNT_OF(...) (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/* An input of rank 1 or more, whose sizes follow the bounds: float32 in [low, high], int32 in
 * [low, high), or bools. */
#define CSE_FLOATS(low, high, ...)                                                 \
    {                                                                              \
        { CSE_COUNT_OF(__VA_ARGS__), { __VA_ARGS__ } }, CSE_FLOAT32, (low), (high) \
    }
#define CSE_INTEGERS(low, high, ...)                                             \
    {                                                                            \
        { CSE_COUNT_OF(__VA_ARGS__), { __VA_ARGS__ } }, CSE_INT32, (low), (high) \
    }
#define CSE_BOOLS(...)                                                 \
    {                                                                  \
        { CSE_COUNT_OF(__VA_ARGS__), { __VA_ARGS__ } }, CSE_BOOL, 0, 2 \
    }

/* Attributes of a sample: integers only. */
#define CSE_WITH_INTEGERS(...) \
    .attributes = { .integer_count = CSE_COUNT_OF(__VA_ARGS__), .integers = { __VA_ARGS__ } }

/* A row of CSE_PLUGINS. */
#define CSE_OP_PLUGIN(descriptor) CSE_PLUGIN_ROW("op", CSE_OP_ABI, const cse_op, descriptor)

#ifdef __cplusplus
}
#endif

#ifndef CSE_BUILDING_LIBRARY
#define cse_trace(...) (cse_at(__FILE__, __LINE__), cse_trace(__VA_ARGS__))
#endif

#endif
