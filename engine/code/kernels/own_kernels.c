/* What this program's kernels are, for the records of kernel_record.h. */
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/kernel.h"
#include "engine/code/kernels/kernel_record.h"

cse_status cse_kernel_record_new(const cse_graph *graph, cse_text *record)
{
    cse_kernel **kernels = cse_calloc((size_t)graph->group_count + 1, sizeof *kernels);
    cse_status status = CSE_OK;
    int count = 0;
    for (int g = 0; g < graph->group_count && status == CSE_OK; g++)
        if (graph->groups[g].kind == CSE_GROUP_LIBRARY)
            status = cse_kernel_new(graph, &graph->groups[g], &kernels[count++]);
    if (status == CSE_OK)
        cse_kernel_record(graph, kernels, record);
    for (int k = 0; k < count; k++)
        cse_kernel_destroy(&kernels[k]);
    free(kernels);
    return status;
}

cse_status cse_kernel_record_choices(cse_text *choices)
{
    const dnnl_version_t *version = dnnl_version();
    const char *wish = getenv("CSE_MATMUL");
    cse_text_add(choices, "CSE_MATMUL=%s oneDNN %d.%d.%d %s", wish != NULL ? wish : "",
                 version->major, version->minor, version->patch, version->hash);
    return CSE_OK;
}
