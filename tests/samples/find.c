/* Which samples belong to a descriptor. */
#include <stddef.h>

#include "tests/samples/samples.h"

const void *cse_samples_find(const void *descriptor)
{
    for (const cse_samples *const *row = cse_samples_of_all; *row != NULL; row++)
        if ((*row)->descriptor == descriptor)
            return (*row)->samples;
    return NULL;
}

const cse_op_sample *cse_samples_of(const cse_op *op)
{
    const cse_op_sample *samples = cse_samples_find(op);
    return samples != NULL ? samples : op->samples;
}
