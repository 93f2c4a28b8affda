/* The choice of the order of summation; see product_order.h. */
#include "engine/code/kernels/product_order.h"

#include <stdlib.h>
#include <string.h>

#include "engine/code/kernels/matrix_units.h"

static const char *const names[] = { [CSE_PRODUCT_ORDER_OPEN] = "open",
                                     [CSE_PRODUCT_ORDER_CHAIN] = "chain",
                                     [CSE_PRODUCT_ORDER_PAIRS] = "pairs",
                                     [CSE_PRODUCT_ORDER_DOT] = "dot" };

const char *cse_product_order_name(cse_product_order order)
{
    return names[order];
}

/* The order of a way that has only one. */
static cse_product_order order_of_way(const char *way)
{
    if (strcmp(way, "amx") == 0)
        return CSE_PRODUCT_ORDER_PAIRS;
    return strcmp(way, "avx512_bf16") == 0 ? CSE_PRODUCT_ORDER_DOT : CSE_PRODUCT_ORDER_OPEN;
}

cse_product_wish cse_product_wish_read(void)
{
    const char *text = getenv("CSE_MATMUL");
    if (text == NULL || *text == '\0')
        return (cse_product_wish){ CSE_PRODUCT_ORDER_OPEN, NULL };
    for (int i = CSE_PRODUCT_ORDER_CHAIN; i < CSE_PRODUCT_ORDER_COUNT; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(text, names[i], length) == 0 && (text[length] == '\0' || text[length] == ':'))
            return (cse_product_wish){ (cse_product_order)i,
                                       text[length] == ':' ? text + length + 1 : NULL };
    }
    return (cse_product_wish){ order_of_way(text), text };
}

cse_product_order cse_product_order_choose(bool portable)
{
    cse_product_order wished = cse_product_wish_read().order;
    if (wished != CSE_PRODUCT_ORDER_OPEN)
        return wished;
    return !portable && cse_matrix_units_run_here() ? CSE_PRODUCT_ORDER_PAIRS
                                                    : CSE_PRODUCT_ORDER_DOT;
}
