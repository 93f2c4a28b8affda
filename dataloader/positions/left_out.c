/* A sorted list, which a binary search looks through. */
#include "dataloader/positions/left_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/config/settings.h"

static const char context[] = "data loader: ", name[] = "without";

static int ascending(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

void cse_left_out_of(const int64_t *samples, int64_t count, cse_left_out *left_out)
{
    *left_out = (cse_left_out){ .count = count };
    left_out->samples = cse_calloc((size_t)count + 1, sizeof *left_out->samples);
    if (count > 0)
        memcpy(left_out->samples, samples, (size_t)count * sizeof *samples);
    qsort(left_out->samples, (size_t)count, sizeof *left_out->samples, ascending);
}

void cse_left_out_read(const cse_settings *settings, cse_left_out *left_out)
{
    const int count = cse_settings_has(settings, name) ? cse_settings_count(settings, name) : 0;
    int64_t *samples = cse_calloc((size_t)count + 1, sizeof *samples);
    for (int i = 0; i < count; i++)
        samples[i] = cse_settings_integer_at(settings, name, i);
    cse_left_out_of(samples, count, left_out);
    free(samples);
}

void cse_left_out_clear(cse_left_out *left_out)
{
    free(left_out->samples);
    *left_out = (cse_left_out){ .count = 0 };
}

bool cse_left_out_has(const cse_left_out *left_out, int64_t sample)
{
    return left_out->count > 0 &&
           bsearch(&sample, left_out->samples, (size_t)left_out->count, sizeof sample, ascending);
}

/* ---- checks ---- */

/* Where the list has a number, the last one of equal ones. */
static cse_place place_of(const cse_settings *settings, int64_t sample)
{
    cse_place place = cse_settings_place(settings, name);
    for (int i = 0; i < cse_settings_count(settings, name); i++)
        if (cse_settings_integer_at(settings, name, i) == sample)
            place = cse_settings_place_at(settings, name, i);
    return place;
}

static cse_status check_twice(const cse_settings *settings)
{
    cse_left_out list;
    cse_status status = CSE_OK;
    cse_left_out_read(settings, &list);
    for (int64_t i = 1; i < list.count && status == CSE_OK; i++)
        if (list.samples[i] == list.samples[i - 1])
            status = cse_fail_at(CSE_ERROR_AT(context, place_of(settings, list.samples[i])),
                                 "without: sample %" PRId64 " comes twice: name each one once",
                                 list.samples[i]);
    cse_left_out_clear(&list);
    return status;
}

/* By a mixture, or in place of a bad record. */
static cse_status check_beside(const cse_settings *settings)
{
    static const char skip[] = "on_bad_record";
    const cse_place place = cse_settings_place(settings, name);
    if (cse_settings_has(settings, "mixing"))
        return cse_fail_at(CSE_ERROR_AT(context, place),
                           "without: mixing draws the partners of samples from all of the data, "
                           "those that are left out included: give one of both");
    if (cse_setting_table_has(settings->table, skip) &&
        strcmp(cse_settings_text(settings, skip), "skip") == 0)
        return cse_fail_at(CSE_ERROR_AT(context, place),
                           "without: on_bad_record: skip has the next sample stand in for a bad "
                           "one, which may be one that is left out: give on_bad_record: error");
    return CSE_OK;
}

cse_status cse_left_out_check(const cse_settings *settings)
{
    if (!cse_settings_has(settings, name) || cse_settings_count(settings, name) == 0)
        return CSE_OK;
    CSE_TRY(check_twice(settings));
    return check_beside(settings);
}

cse_status cse_left_out_check_samples(const cse_settings *settings, int64_t sample_count,
                                      bool is_stream)
{
    const int count = cse_settings_has(settings, name) ? cse_settings_count(settings, name) : 0;
    if (count == 0)
        return CSE_OK;
    if (is_stream)
        return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, name)),
                           "without: %s determines the order of its samples itself, whose numbers "
                           "are places of a stream: a sample has another one in each epoch; leave "
                           "it out of the data",
                           cse_settings_text(settings, "data_processor"));
    for (int i = 0; i < count; i++) {
        const int64_t sample = cse_settings_integer_at(settings, name, i);
        if (sample >= sample_count)
            return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place_at(settings, name, i)),
                               "without: there is no sample %" PRId64 ": the data have %" PRId64
                               ", accepted are 0 to %" PRId64,
                               sample, sample_count, sample_count - 1);
    }
    return count < sample_count
               ? CSE_OK
               : cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, name)),
                             "without: it names all %" PRId64
                             " samples of the data: at least one must be left",
                             sample_count);
}
