/* The choice of the order and of the way of an attention; see attention.h. */
#include <stdlib.h>
#include <string.h>

#include "engine/code/kernels/attention.h"
#include "engine/code/kernels/product_order.h"

cse_product_order cse_attention_order(const cse_graph *graph, cse_dtype dtype)
{
    cse_product_order order = graph->product_order;
    if (dtype != CSE_BFLOAT16)
        return CSE_PRODUCT_ORDER_CHAIN;
    if (order == CSE_PRODUCT_ORDER_OPEN)
        order = cse_product_order_choose(graph->portable);
    return order == CSE_PRODUCT_ORDER_PAIRS ? order : CSE_PRODUCT_ORDER_DOT;
}

const cse_attention_way *cse_attention_choose_way(cse_product_order order, bool blocks)
{
    static const cse_attention_way *const ways[CSE_PRODUCT_ORDER_COUNT][5] = {
        [CSE_PRODUCT_ORDER_CHAIN] = { &cse_attention_avx512, &cse_attention_avx2,
                                      &cse_attention_plain },
        [CSE_PRODUCT_ORDER_DOT] = { &cse_attention_avx512_bf16, &cse_attention_avx512_dot,
                                    &cse_attention_avx2_dot, &cse_attention_plain_dot },
        [CSE_PRODUCT_ORDER_PAIRS] = { &cse_attention_amx, &cse_attention_avx512_pairs,
                                      &cse_attention_avx2_pairs, &cse_attention_plain_pairs },
    };
    const cse_attention_way *const *list = ways[order], *const *at = list;
    const char *wanted = getenv("CSE_ATTENTION");
    while (wanted != NULL && *at != NULL && strcmp((*at)->name, wanted) != 0)
        at++;
    if (*at == NULL)
        at = list;
    while (!(*at)->runs_here() || (*at == &cse_attention_amx && !blocks))
        at++;
    return *at;
}
