/* A note that lacks something has no samples. */
#include "run/travel/step_samples.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

cse_status cse_step_samples_read(const char *folder, int64_t step, cse_step_samples *samples)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/values/step-%" PRId64 ".json", folder, step);
    json_t *note = json_load_file(path, 0, NULL);
    const json_t *list = json_object_get(note, "samples");
    const size_t count = json_array_size(list);
    *samples = (cse_step_samples){
        .numbers = cse_calloc(count + 1, sizeof *samples->numbers),
        .count = (int64_t)count,
        .micro_batch_size = json_integer_value(json_object_get(note, "micro_batch_size")),
    };
    for (size_t i = 0; i < count; i++)
        samples->numbers[i] = json_integer_value(json_array_get(list, i));
    json_decref(note);
    if (samples->micro_batch_size > 0 && count % (size_t)samples->micro_batch_size == 0)
        return CSE_OK;
    return cse_fail(CSE_INTERNAL, "%s does not say which samples the step had", path);
}

void cse_step_samples_clear(cse_step_samples *samples)
{
    free(samples->numbers);
    *samples = (cse_step_samples){ .numbers = NULL };
}
