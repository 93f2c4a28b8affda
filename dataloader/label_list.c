/* Samples are read in blocks, as some input functions read several at once faster. */
#include "dataloader/label_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/types/shape.h"

enum { BLOCK = 64, MOST_CLASSES = 1 << 24 };

static int label_stream(const cse_input *input)
{
    for (int s = 0; s < input->stream_count; s++)
        if (strcmp(input->streams[s].name, "labels") == 0)
            return input->streams[s].dtype == CSE_INT32 && input->streams[s].shape.rank == 0 ? s
                                                                                             : -1;
    return -1;
}

/* The labels of samples `first` to `first` + `count` - 1, read with the rest into `outputs`. */
static cse_status read_block(cse_input *input, int64_t first, int64_t count, void *const outputs[],
                             int32_t *labels)
{
    int64_t indices[BLOCK];
    for (int64_t i = 0; i < count; i++)
        indices[i] = first + i;
    if (input->read_labels != NULL)
        return input->read_labels(input, indices, count, labels);
    CSE_TRY(input->descriptor->read(input, indices, count, outputs));
    memcpy(labels, outputs[label_stream(input)], (size_t)count * sizeof *labels);
    return CSE_OK;
}

static cse_status read_all(cse_input *input, int32_t *labels)
{
    void *outputs[CSE_MAX_STREAMS] = { NULL };
    cse_status status = CSE_OK;
    for (int s = 0; s < input->stream_count && input->read_labels == NULL; s++)
        outputs[s] = cse_calloc(BLOCK, (size_t)cse_shape_elements(input->streams[s].shape) * 4);
    for (int64_t first = 0; first < input->sample_count && status == CSE_OK; first += BLOCK) {
        const int64_t left = input->sample_count - first;
        status = read_block(input, first, left < BLOCK ? left : BLOCK, outputs, labels + first);
    }
    for (int s = 0; s < input->stream_count; s++)
        free(outputs[s]);
    return status;
}

cse_status cse_label_list_read(cse_input *input, const char *setting, const char *origin,
                               int32_t **labels)
{
    *labels = NULL;
    if (input->is_stream)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s (%s) needs the class of each sample, and %s determines "
                        "the order of its samples itself",
                        setting, origin, input->descriptor->name);
    if (label_stream(input) < 0)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s (%s) needs the class of each sample, and the data of %s "
                        "have no stream `labels` with one class for each sample",
                        setting, origin, input->descriptor->name);
    int32_t *list = cse_calloc((size_t)input->sample_count, sizeof *list);
    cse_status status = read_all(input, list);
    if (status == CSE_OK)
        *labels = list;
    else
        free(list);
    return status;
}

cse_status cse_label_counts(const cse_input *input, const int32_t *labels, int64_t **counts,
                            int64_t *classes)
{
    int64_t most = input->class_count;
    *counts = NULL;
    for (int64_t i = 0; i < input->sample_count; i++) {
        if (labels[i] < 0 || labels[i] >= MOST_CLASSES)
            return cse_fail(CSE_DATA,
                            "%s: sample %" PRId64 " has label %" PRId32 ": accepted are "
                            "classes from 0 to %d",
                            input->source, i, labels[i], MOST_CLASSES - 1);
        most = labels[i] >= most ? labels[i] + 1 : most;
    }
    *classes = most;
    *counts = cse_calloc((size_t)most, sizeof **counts);
    for (int64_t i = 0; i < input->sample_count; i++)
        (*counts)[labels[i]]++;
    return CSE_OK;
}
