/* The settings, and what is told of samples that are left out. */
#include "dataloader/tables/missing_values.h"

#include <inttypes.h>
#include <string.h>

#include "dataloader/identity/data_watch.h"
#include "engine/base/arena.h"

cse_missing_values cse_missing_values_read(const cse_settings *settings)
{
    const char *text = cse_settings_text(settings, "missing_values");
    return strcmp(text, "drop") == 0   ? CSE_MISSING_DROPPED
           : strcmp(text, "fill") == 0 ? CSE_MISSING_FILLED
                                       : CSE_MISSING_REFUSED;
}

cse_status cse_feature_numbers(const cse_settings *settings, const char *name, int64_t features,
                               const char *path, double **values)
{
    const int count = cse_settings_count(settings, name);
    if (count != 1 && count != features)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: %s has %d numbers: accepted are 1 or %" PRId64
                        ", one for each feature of %s",
                        cse_settings_origin(settings, name), name, count, features, path);
    *values = cse_calloc((size_t)features, sizeof **values);
    for (int64_t i = 0; i < features; i++)
        (*values)[i] = cse_settings_number_at(settings, name, count == 1 ? 0 : (int)i);
    return CSE_OK;
}

cse_status cse_missing_values_told(const char *path, int64_t dropped, int64_t left)
{
    if (dropped > 0 && left == 0)
        return cse_fail(CSE_DATA,
                        "%s: missing_values: drop leaves no sample: each of the %" PRId64
                        " has a value that is empty, NaN or infinite",
                        path, dropped);
    if (dropped > 0)
        cse_data_tell("%s: %" PRId64 " of %" PRId64
                      " samples were left out, since a value is empty, NaN or infinite",
                      path, dropped, dropped + left);
    return CSE_OK;
}
