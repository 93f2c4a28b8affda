/* The client library has none of the kernels that compute products and convolutions: it does not
 * run steps. What kernels a step has, it asks the program that will run it. */
#include <unistd.h>

#include "client/ask.h"
#include "engine/code/kernels/kernel_record.h"
#include "engine/code/kernels/matmul_sizes.h"
#include "engine/graph/pack.h"

static cse_status none(const cse_kernel_plan *plan)
{
    char text[256];
    return cse_fail(CSE_UNAVAILABLE,
                    "%s: the client library computes nothing: run this with the program csengine, "
                    "or link with libcsengine",
                    cse_kernel_plan_text(plan, text, sizeof text));
}

cse_status cse_kernel_new_product(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes,
                                  cse_kernel **kernel)
{
    (void)sizes;
    *kernel = NULL;
    return none(plan);
}

cse_status cse_kernel_new_matmul(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    *kernel = NULL;
    return none(plan);
}

cse_status cse_kernel_new_conv2d(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    *kernel = NULL;
    return none(plan);
}

cse_status cse_kernel_new_conv2d_gradient_input(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    *kernel = NULL;
    return none(plan);
}

cse_status cse_kernel_new_conv2d_gradient_weight(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    *kernel = NULL;
    return none(plan);
}

cse_status cse_kernel_record_new(const cse_graph *graph, cse_text *record)
{
    static const char *const words[] = { "kernels", NULL };
    cse_text packed = { 0 };
    int memory;
    cse_calls *calls = cse_calls_new(graph);
    cse_graph_pack(graph, calls, &packed);
    cse_calls_destroy(&calls);
    cse_status status = cse_client_memory_new(&packed, &memory);
    cse_text_clear(&packed);
    CSE_TRY(status);
    status = cse_client_ask(words, memory, -1, record);
    close(memory);
    return status;
}

cse_status cse_kernel_record_choices(cse_text *choices)
{
    static const char *const words[] = { "choices", NULL };
    return cse_client_ask(words, -1, -1, choices);
}
