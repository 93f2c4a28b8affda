/* Reading the values of a committed step in closures. */
#include <math.h>

#include "engine/base/types/shape.h"
#include "run/session/traced_step.h"

#include <string.h>

int64_t cse_values_step(const cse_values *values)
{
    return values->step;
}

int cse_values_count(const cse_values *values)
{
    return values->count;
}

const void *cse_value_data_view(const cse_values *values, int index, cse_shape *shape,
                                cse_dtype *dtype)
{
    if (index < 0 || index >= values->count)
        return NULL;
    const cse_fetch_entry *fetch = &values->graph->fetches[values->fetches[index]];
    if (shape != NULL)
        *shape = fetch->value->shape;
    if (dtype != NULL)
        *dtype = fetch->value->dtype;
    return values->fetched + fetch->offset_bytes;
}

double cse_value(const cse_values *values, int index)
{
    cse_shape shape;
    cse_dtype dtype;
    const void *data = cse_value_data_view(values, index, &shape, &dtype);
    if (data == NULL || cse_shape_elements(shape) != 1)
        return (double)NAN;
    return dtype == CSE_INT32 ? (double)*(const int32_t *)data : (double)*(const float *)data;
}

bool cse_values_named(const cse_values *values, int *index, const char **name, double *value)
{
    for (; *index < values->graph->fetch_count; (*index)++) {
        const cse_fetch_entry *fetch = &values->graph->fetches[*index];
        if (!cse_fetch_is_metric(fetch))
            continue;
        *name = fetch->name;
        *value = (double)*(const float *)(const void *)(values->fetched + fetch->offset_bytes);
        (*index)++;
        return true;
    }
    return false;
}

bool cse_fetch_is_metric(const cse_fetch_entry *fetch)
{
    const char *explaining = "gradient_squares.";
    return strcmp(fetch->name, "closure") != 0 &&
           strncmp(fetch->name, explaining, strlen(explaining)) != 0 &&
           fetch->value->dtype == CSE_FLOAT32 && cse_shape_elements(fetch->value->shape) == 1;
}
