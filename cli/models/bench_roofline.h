/* What `csengine bench step --roofline` prints: each kernel's operations, bytes and time, and its
 * share of what the machine allows. */
#ifndef CSE_CLI_MODELS_BENCH_ROOFLINE_H
#define CSE_CLI_MODELS_BENCH_ROOFLINE_H

#include <jansson.h>

#include "run/measure/roofline.h"

/* Kernels of at least CSE_ROOFLINE_LEAST_SHARE of the time, the sums and the machine's limits. */
void cse_roofline_print(const cse_roofline *roofline);
json_t *cse_roofline_json(const cse_roofline *roofline);

#endif
