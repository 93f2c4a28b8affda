/* What a kernel is made from, read from a LIBRARY group: where the operands of the product are
 * among the group's inputs, and the epilogue. kernel.c makes the plan; each family of kernels
 * (matmul, conv2d, pool2d) makes a kernel from it. */
#ifndef CSE_KERNELS_PLAN_H
#define CSE_KERNELS_PLAN_H

#include "engine/base/thread_team.h"
#include "engine/graph/graph.h"

typedef struct cse_kernel cse_kernel;
struct cse_kernel {
    /* `inputs`: the group's inputs in the order of cse_group_inputs (stored values, contiguous);
     * `output`: the place of the group's last node. Of an op with several results: an array of
     * their places, void *const[], where NULL stands for a result that nobody needs. */
    void (*run)(cse_kernel *self, const void *const inputs[], void *output);
    void (*destroy)(cse_kernel *self);
    const char *implementation; /* what the library chose, for reports: "brg:avx512_core" */
    const char *order; /* of its sums, where it is ours: "chain"; NULL: the library's own */
    double flops;      /* of one run; 0 when it is not a product */
    /* Copied from the frame before the program runs, for kernels that round stochastically. */
    uint64_t seed;
    int64_t step, first_sample;
    /* Likewise: who shares the work of a run, where the kernel can divide it; NULL: nobody. The
     * bits are those of one thread. */
    cse_thread_team *team;
};

void cse_kernel_destroy(cse_kernel **kernel);

enum { CSE_MAX_OPERANDS = 7 };

typedef struct cse_kernel_plan {
    const cse_graph *graph;
    const cse_node *product; /* shapes and attributes; the first node of the group */
    cse_dtype dtype;         /* of the output as the kernel sees it; a bias is float32 */
    cse_dtype operand_dtypes[CSE_MAX_OPERANDS]; /* likewise */
    int operands[CSE_MAX_OPERANDS]; /* positions of the product's inputs among the group's inputs */
    int bias;                       /* position of the bias; -1: none */
    bool narrow_bias; /* of bfloat16, like the result, which is rounded before it is added, too */
    bool relu;
    bool continues;                           /* a matmul whose sums go on from its third operand */
    const cse_node *results[CSE_MAX_RESULTS]; /* of an op with several; NULL: not needed */
} cse_kernel_plan;

/* The makers that ops name in their descriptors; `tiled` ones emulate accumulation in 16 bits. */
cse_kernel_maker cse_kernel_new_matmul, cse_kernel_new_conv2d, cse_kernel_new_conv2d_gradient_input,
    cse_kernel_new_conv2d_gradient_weight, cse_kernel_new_max_pool2d,
    cse_kernel_new_max_pool2d_gradient, cse_kernel_new_avg_pool2d,
    cse_kernel_new_avg_pool2d_gradient, cse_kernel_new_attention, cse_kernel_new_attention_gradient,
    cse_kernel_new_paged_attention, cse_kernel_new_expert_matmul, cse_kernel_new_expert_outer,
    cse_kernel_refuse_tiled_experts, cse_kernel_new_packed_linear, cse_kernel_refuse_tiled_packed,
    cse_kernel_new_packed_embedding, cse_kernel_new_unpack_weight, cse_kernel_new_tiled_matmul,
    cse_kernel_new_tiled_conv2d, cse_kernel_new_tiled_conv2d_gradient_input,
    cse_kernel_new_tiled_conv2d_gradient_weight;

/* Whether operands and result are of one type. */
bool cse_kernel_plan_has_one_type(const cse_kernel_plan *plan);

/* Makes a float32 kernel for types that have no kernel: 16-bit operands are widened before it, and
 * a 16-bit result is rounded once after it. */
cse_status cse_kernel_new_widened(const cse_kernel_plan *plan, cse_kernel_maker *maker,
                                  cse_kernel **kernel);

/* "matmul [128, 784] x [500, 784]", for messages. */
const char *cse_kernel_plan_text(const cse_kernel_plan *plan, char *text, size_t size);

#endif
