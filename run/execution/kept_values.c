/* Files of values begin with the steps that were done before, so that a run that is resumed leaves
 * those of its earlier starts. */
#include "run/execution/kept_values.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/position.h"
#include "engine/base/directory.h"
#include "engine/base/file_replace.h"

cse_status cse_kept_values_place(const cse_session *session, bool training, int64_t first_step,
                                 cse_value_files *files)
{
    const cse_numerics *numerics = session->opened.numerics;
    *files = (cse_value_files){ .prefix = NULL };
    if (!training || numerics == NULL || numerics->request.values == NULL)
        return CSE_OK;
    const char *folder =
        cse_arena_printf(session->arena, "%s/values", session->configuration.model_dir);
    *files = (cse_value_files){
        .prefix = cse_arena_printf(session->arena, "%s/after-%" PRId64 ".", folder, first_step),
        .microbatches = numerics->request.microbatches,
    };
    return cse_make_directories("numerics.values", folder);
}

static json_t *list_samples(const cse_batching *batching, int64_t sample_count, int64_t steps)
{
    json_t *list = json_array();
    const size_t size = (size_t)batching->micro_batch_size;
    int64_t *samples = cse_malloc(size * sizeof *samples);
    for (int64_t m = 0; m < cse_batching_microbatches(batching); m++) {
        cse_position_samples(batching, sample_count,
                             cse_position_of(batching, sample_count, steps - 1, m), samples, NULL);
        for (size_t i = 0; i < size; i++)
            json_array_append_new(list, json_integer(samples[i]));
    }
    free(samples);
    return list;
}

cse_status cse_kept_values_note_samples(const cse_session *session, const cse_dataloader *loader,
                                        int64_t steps)
{
    char path[PATH_MAX];
    if (steps % session->opened.numerics->request.every != 0)
        return CSE_OK;
    const cse_batching *batching = cse_dataloader_batching_view(loader);
    json_t *note =
        json_pack("{s:I, s:I, s:o}", "step", (json_int_t)steps, "micro_batch_size",
                  (json_int_t)batching->micro_batch_size, "samples",
                  list_samples(batching, cse_dataloader_input_view(loader)->sample_count, steps));
    char *text = json_dumps(note, JSON_COMPACT);
    json_decref(note);
    snprintf(path, sizeof path, "%s/values/step-%" PRId64 ".json", session->configuration.model_dir,
             steps);
    cse_status status = cse_file_replace(path, text, strlen(text));
    free(text);
    return status;
}
