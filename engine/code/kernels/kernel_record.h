/* What decides the bits of an executable beside its graph: the record that artefacts and
 * checkpoints keep of it. */
#ifndef CSE_KERNELS_KERNEL_RECORD_H
#define CSE_KERNELS_KERNEL_RECORD_H

#include "engine/base/text.h"
#include "engine/code/kernels/plan.h"

/* One line: "portable on avx512; matmul: packed (chain), avx512 (dot)". It names the setting
 * `deterministic`, the instruction set, and for each op its kernels, with their orders of sums
 * where these are ours. `kernels` are those of the graph's LIBRARY groups in their order. */
void cse_kernel_record(const cse_graph *graph, cse_kernel *const kernels[], cse_text *record);

/* The same for a graph whose kernels are not made: makes and destroys them. */
cse_status cse_kernel_record_new(const cse_graph *graph, cse_text *record);

/* What the program chooses kernels by that no graph holds: the environment's wishes, and the
 * version of oneDNN. Part of an artefact's key. Fails in a client that cannot ask the program. */
cse_status cse_kernel_record_choices(cse_text *choices);

#endif
