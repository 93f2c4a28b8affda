/* Library kernels: what a LIBRARY group runs, which is a matrix product, a convolution or a
 * pooling, and the epilogue that fusion appended to it.
 *
 * A kernel is made once, when an executable is opened, and runs with pointers alone: running it
 * allocates nothing and creates no primitive. It is single-threaded and gives the same bits for the
 * same operands at any place that is aligned to 64 bytes. */
#ifndef CSE_KERNELS_KERNEL_H
#define CSE_KERNELS_KERNEL_H

#include "engine/code/kernels/plan.h"

/* Whether `node`, whose producer is the last node of the LIBRARY group `nodes` (in order, the
 * product first), can be computed by the kernel as one more step of its epilogue: adding a bias
 * that is broadcast over all but the last axis of a matmul (or the channel axis of a convolution),
 * then relu. A bias is float32; that of a matmul of bfloat16 may be bfloat16, too. Fusion asks
 * before it appends a node; a kernel accepts every group that was built so. The broadcast node of
 * the bias is part of the group (it stands before the add). */
bool cse_kernel_accepts(cse_node *const nodes[], int node_count, const cse_node *node);

/* Makes the kernel of a LIBRARY group. CSE_UNAVAILABLE when the library cannot do it on this
 * machine, naming the node and the shapes. The caller owns the kernel. */
cse_status cse_kernel_new(const cse_graph *graph, const cse_group *group, cse_kernel **kernel);

/* Bytes of working memory that the kernels of the graph share in each process that runs it: they
 * are made, and destroyed again. */
cse_status cse_kernel_scratch_bytes(const cse_graph *graph, int64_t *bytes);

#endif
