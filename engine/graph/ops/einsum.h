/* The notation of a sum of products by letters: "bhqd,bhkd->bhqk". */
#ifndef CSE_OPS_EINSUM_H
#define CSE_OPS_EINSUM_H

#include "engine/graph/trace/arguments.h"

/* A letter for each axis of the operands and of the result. */
typedef struct cse_einsum_notation {
    int operand_count; /* 1 or 2 */
    char operands[2][CSE_MAX_RANK + 1], result[CSE_MAX_RANK + 1];
} cse_einsum_notation;

/* False where the text is no such notation: one or two operands of different letters each, an
 * arrow, and a result whose letters the operands have. Spaces are ignored. */
bool cse_einsum_parse(const char *text, cse_einsum_notation *einsum);

#endif
