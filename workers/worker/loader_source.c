/* A data loader as source of microbatches, in the layout of the graph's inputs.
 *
 * A loader delivers all its streams one after another; a graph declares those it uses, in its own
 * order. When both layouts are equal the loader writes straight into the ring; else it writes to a
 * buffer, from which the streams are copied. */
#include "workers/worker/loader_source.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "workers/worker/index_check.h"

typedef struct stream_copy {
    int64_t from, to, bytes;
    int stream;
    const cse_input_entry *input; /* the graph's */
} stream_copy;

typedef struct loader_source {
    cse_microbatch_source source;
    cse_dataloader *loader;
    unsigned char *buffer; /* NULL: the layouts are equal */
    stream_copy copies[CSE_MAX_STREAMS];
    int copy_count;
} loader_source;

static cse_status reject_index(const loader_source *source, const stream_copy *copy, int64_t at,
                               int32_t value)
{
    char place[PATH_MAX + 128], range[CSE_RANGE_TEXT_BYTES];
    const cse_input_entry *input = copy->input;
    cse_dataloader_locate(source->loader, copy->stream, at, place, sizeof place);
    cse_input_range_text(input, range, sizeof range);
    if (value < 0)
        return cse_fail(CSE_DATA,
                        "%s: %" PRId32 " in stream \"%s\": accepted are %s (%s is %" PRId64 "); "
                        "correct the data",
                        place, value, input->name, range, input->index_use, input->index_count);
    return cse_fail(CSE_DATA,
                    "%s: %" PRId32 " in stream \"%s\": accepted are %s (%s is %" PRId64 "); make "
                    "that at least %" PRId64 ", or correct the data",
                    place, value, input->name, range, input->index_use, input->index_count,
                    (int64_t)value + 1);
}

static cse_status check_all_indices(const loader_source *source, const unsigned char *bytes)
{
    for (int i = 0; i < source->copy_count; i++) {
        const stream_copy *copy = &source->copies[i];
        const int64_t at = cse_input_wrong_index(copy->input, bytes);
        if (at >= 0)
            return reject_index(source, copy, at,
                                ((const int32_t *)(const void *)(bytes + copy->to))[at]);
    }
    return CSE_OK;
}

static cse_status read_direct(void *self, int64_t step, int64_t m, void *bytes)
{
    const loader_source *source = self;
    CSE_TRY(cse_dataloader_read(source->loader, step, m, bytes));
    return check_all_indices(source, bytes);
}

static cse_status read_arranged(void *self, int64_t step, int64_t m, void *bytes)
{
    loader_source *source = self;
    CSE_TRY(cse_dataloader_read(source->loader, step, m, source->buffer));
    for (int i = 0; i < source->copy_count; i++) {
        stream_copy copy = source->copies[i];
        memcpy((unsigned char *)bytes + copy.to, source->buffer + copy.from, (size_t)copy.bytes);
    }
    return check_all_indices(source, bytes);
}

/* Finds the stream that an input of the graph takes, and checks that it fits. */
static cse_status match(const cse_dataloader *loader, const cse_graph *graph,
                        const cse_input_entry *entry, stream_copy *copy)
{
    const cse_input *input = cse_dataloader_input_view(loader);
    cse_text names = { 0 };
    for (int s = 0; s < input->stream_count; s++) {
        const cse_stream *stream = &input->streams[s];
        if (strcmp(stream->name, entry->name) != 0) {
            cse_text_add(&names, "%s%s", s ? ", " : "", stream->name);
            continue;
        }
        cse_text_clear(&names);
        cse_shape shape = { .rank = stream->shape.rank + 1 };
        shape.dims[0] = graph->micro_batch_size;
        for (int d = 0; d < stream->shape.rank && d + 1 < CSE_MAX_RANK; d++)
            shape.dims[d + 1] = stream->shape.dims[d];
        char wanted[128], given[128];
        if (!cse_shape_equal(shape, entry->shape) || stream->dtype != entry->dtype)
            return cse_fail(
                CSE_CONFIG, "input \"%s\": the model takes %s %s a microbatch, the data has %s %s",
                entry->name, cse_shape_text(entry->shape, wanted, sizeof wanted),
                cse_dtype_name(entry->dtype), cse_shape_text(shape, given, sizeof given),
                cse_dtype_name(stream->dtype));
        *copy = (stream_copy){ .stream = s,
                               .input = entry,
                               .from = cse_dataloader_stream_offset(loader, s),
                               .to = entry->offset_bytes,
                               .bytes = cse_shape_elements(entry->shape) *
                                        (int64_t)cse_dtype_size(entry->dtype) };
        return CSE_OK;
    }
    cse_status status =
        cse_fail(CSE_CONFIG, "input \"%s\": the data has no such stream; it has: %s", entry->name,
                 names.data ? names.data : "none");
    cse_text_clear(&names);
    return status;
}

cse_status cse_loader_source_new(cse_dataloader *loader, const cse_graph *graph,
                                 cse_microbatch_source **result)
{
    *result = NULL;
    if (graph->input_count > CSE_MAX_STREAMS)
        return cse_fail(CSE_CONFIG, "the model takes %d inputs; data can have at most %d streams",
                        graph->input_count, CSE_MAX_STREAMS);
    const int64_t loader_bytes = cse_dataloader_microbatch_bytes(loader);
    loader_source *source = cse_calloc(1, sizeof *source);
    bool same = loader_bytes <= graph->space_bytes[CSE_SPACE_INPUT];
    for (int i = 0; i < graph->input_count; i++) {
        stream_copy *copy = &source->copies[i];
        cse_status status = match(loader, graph, &graph->inputs[i], copy);
        if (status != CSE_OK) {
            free(source);
            return status;
        }
        same = same && copy->from == copy->to;
    }
    /* The loader would write a stream that the graph does not use beyond the graph's inputs. */
    same = same && graph->input_count == cse_dataloader_input_view(loader)->stream_count;
    source->copy_count = graph->input_count;
    source->loader = loader;
    source->buffer = same ? NULL : cse_aligned_calloc((size_t)loader_bytes);
    source->source.self = source;
    source->source.read = same ? read_direct : read_arranged;
    *result = &source->source;
    return CSE_OK;
}

void cse_loader_source_destroy(cse_microbatch_source **source)
{
    if (!*source)
        return;
    loader_source *own = (*source)->self;
    free(own->buffer);
    free(own);
    *source = NULL;
}
