/* In which order the products of two bfloat16 operands are summed: chosen once, here.
 *
 * The order decides bits, so that it is chosen where a step is compiled and stands in its graph;
 * whatever loads the graph computes in that order, each machine by the fastest of its
 * implementations. */
#ifndef CSE_KERNELS_PRODUCT_ORDER_H
#define CSE_KERNELS_PRODUCT_ORDER_H

#include "engine/graph/graph.h"

/* The order for a run that is compiled here: `pairs` where there are matrix units (AMX), which have
 * no other, `dot` elsewhere. `portable`: the order that every kind of machine computes well, so
 * that a run gives the same bits on all of them. Never CSE_PRODUCT_ORDER_OPEN. For tests and
 * comparisons CSE_MATMUL (cse_product_wish_read) overrides all of this. */
cse_product_order cse_product_order_choose(bool portable);

/* "chain", "pairs", "dot"; "open". */
const char *cse_product_order_name(cse_product_order order);

/* What CSE_MATMUL asks for: "ORDER:WAY", "ORDER" or "WAY", with an order above and a way as
 * matmul_narrow.h and matmul.c name them. */
typedef struct cse_product_wish {
    cse_product_order order; /* CSE_PRODUCT_ORDER_OPEN: none asked for */
    const char *way;         /* NULL: the fastest one */
} cse_product_wish;

cse_product_wish cse_product_wish_read(void);

#endif
