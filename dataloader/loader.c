/* An input function bound to a batching: the layout of a microbatch, and reading one by its place.
 *
 * The only state is the open source: a microbatch is a pure function of (settings, seed, step, m),
 * so a worker can start at any step, and two workers read the same bytes for it. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/identity/data_watch.h"
#include "dataloader/mixing.h"
#include "dataloader/position.h"
#include "dataloader/positions/left_out.h"
#include "dataloader/sampling.h"
#include "dataloader/section.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"

enum { STREAM_ALIGNMENT = 64 };

/* Limit of a microbatch: more than any memory, small enough that no size overflows. */
static const int64_t max_microbatch_bytes = (int64_t)1 << 40;

struct cse_dataloader {
    cse_input input;
    cse_batching batching;
    int64_t micro_batch_size; /* of whole batches */
    int64_t *samples;         /* [micro_batch_size]: of the microbatch being read */
    int64_t *epochs;          /* [micro_batch_size] */
    int64_t stream_bytes[CSE_MAX_STREAMS];
    int64_t stream_offset[CSE_MAX_STREAMS];
    int64_t microbatch_bytes;
    bool is_unseen;        /* there is no source behind it */
    cse_weighted *sampler; /* NULL: each sample is taken once in an epoch */
    cse_left_out without;
    int64_t step, step_samples; /* of the batch that was read last; -1: none was */
    cse_arena *arena;           /* of its names, where another host has the source; else NULL */
};

static int64_t aligned(int64_t bytes)
{
    return (bytes + STREAM_ALIGNMENT - 1) / STREAM_ALIGNMENT * STREAM_ALIGNMENT;
}

static cse_status lay_out(cse_dataloader *loader)
{
    const cse_input *input = &loader->input;
    int64_t offset = 0;
    for (int s = 0; s < input->stream_count; s++) {
        const cse_stream *stream = &input->streams[s];
        int64_t bytes;
        if (__builtin_mul_overflow(cse_shape_elements(stream->shape),
                                   (int64_t)cse_dtype_size(stream->dtype), &bytes) ||
            __builtin_mul_overflow(bytes, loader->batching.micro_batch_size, &bytes) ||
            bytes > max_microbatch_bytes - offset)
            return cse_fail(CSE_CONFIG,
                            "data loader: a microbatch of %" PRId64
                            " samples with stream %s takes more than 2^40 bytes: give a smaller "
                            "micro_batch_size",
                            loader->batching.micro_batch_size, stream->name);
        loader->stream_offset[s] = offset;
        loader->stream_bytes[s] = bytes;
        offset = aligned(offset + bytes);
    }
    loader->microbatch_bytes = offset;
    return CSE_OK;
}

static void make_lists(cse_dataloader *loader)
{
    const size_t samples = (size_t)loader->micro_batch_size;
    loader->samples = cse_calloc(samples, sizeof *loader->samples);
    loader->epochs = cse_calloc(samples, sizeof *loader->epochs);
}

static cse_dataloader *loader_of(const cse_dataloader_section *section)
{
    cse_dataloader *loader = cse_calloc(1, sizeof *loader);
    loader->batching = section->batching;
    loader->micro_batch_size = section->batching.micro_batch_size;
    loader->input.descriptor = section->descriptor;
    loader->step = -1;
    loader->input.seed = section->batching.shuffle ? section->batching.shuffle_seed : 0;
    return loader;
}

/* ---- batches that are smaller than the others ---- */

int64_t cse_dataloader_last_samples(const cse_dataloader *loader)
{
    return loader->input.sample_count % loader->batching.batch_size;
}

/* Whole batches in an epoch. */
static int64_t whole_batches(const cse_dataloader *loader)
{
    return loader->input.sample_count / loader->batching.batch_size;
}

cse_status cse_dataloader_drops_last(const cse_dataloader *loader, const cse_settings *settings,
                                     bool training, bool *drops)
{
    const cse_batching *batching = &loader->batching;
    const int64_t samples = loader->input.sample_count, whole = whole_batches(loader);
    const bool is_between = batching->skip_samples % samples % batching->batch_size == 0;
    *drops = training || (!is_between && whole > 0);
    if (cse_settings_has(settings, "drop_last"))
        *drops = cse_settings_bool(settings, "drop_last");
    return *drops && whole == 0 ? cse_dataloader_too_few(settings, samples) : CSE_OK;
}

/* The layout of smaller microbatches cannot be too large. */
void cse_dataloader_choose_kind(cse_dataloader *loader, cse_batch_kind kind)
{
    cse_position_choose_kind(&loader->batching, loader->micro_batch_size, kind);
    loader->step = -1;
    (void)lay_out(loader);
}

/* As drop_last says, and for training without it; data that fill no batch are one. */
static void choose_first(cse_dataloader *loader)
{
    const bool fills_none = whole_batches(loader) == 0;
    const int64_t samples = loader->input.sample_count - loader->without.count;
    cse_dataloader_choose_kind(
        loader, (cse_batch_kind){ .dropped = loader->batching.drop_last && !fills_none,
                                  .samples = fills_none ? samples : 0 });
}

static bool leaves_out(const cse_dataloader *loader)
{
    return loader->batching.without != NULL;
}

bool cse_dataloader_is_uneven(const cse_dataloader *loader)
{
    return leaves_out(loader) ||
           (!loader->batching.drop_last && cse_dataloader_last_samples(loader) > 0 &&
            whole_batches(loader) > 0);
}

void cse_dataloader_measure(cse_dataloader *loader, int64_t samples, int64_t micro_batch_size)
{
    loader->batching.without = NULL;
    loader->batching.batch_size = samples;
    loader->micro_batch_size = micro_batch_size;
    cse_dataloader_choose_kind(loader, (cse_batch_kind){ .dropped = true });
}

int64_t cse_dataloader_batch_samples(const cse_dataloader *loader, int64_t step)
{
    return cse_position_batch_samples(&loader->batching, loader->input.sample_count, step);
}

cse_batch_kind cse_dataloader_kind_of(const cse_dataloader *loader, int64_t step)
{
    return cse_position_kind(&loader->batching, loader->input.sample_count, step);
}

/* Places that are looked at for the end of a kind: some seconds. */
enum { MOST_PLACES = 1 << 26 };

/* By looking at the samples of all steps up to it, which takes nothing beside computing them. */
static int64_t first_other(const cse_dataloader *loader, int64_t step, int64_t last)
{
    const int64_t samples = cse_dataloader_batch_samples(loader, step);
    const int64_t most = MOST_PLACES / loader->batching.batch_size + 1;
    int64_t next = step + 1;
    while (next < last && next - step < most &&
           cse_dataloader_batch_samples(loader, next) == samples)
        next++;
    return next;
}

int64_t cse_dataloader_kind_end(const cse_dataloader *loader, int64_t step, int64_t last)
{
    const cse_batching *batching = &loader->batching;
    const int64_t samples = loader->input.sample_count, whole = whole_batches(loader);
    if (leaves_out(loader))
        return first_other(loader, step, last);
    if (batching->drop_last || whole == 0 || cse_dataloader_last_samples(loader) == 0)
        return last;
    const int64_t left = whole - cse_position_epoch_step(batching, samples, step).step;
    const int64_t end = step + (left > 0 ? left : 1);
    return end < last ? end : last;
}

/* ---- opening ---- */

/* Sampling comes first: it counts the labels, which mixing turns into probabilities. */
static cse_status choose_and_mix(const cse_settings *settings, cse_dataloader *loader)
{
    const uint64_t seed = loader->batching.shuffle_seed;
    CSE_TRY(cse_sampling_read(settings, &loader->input, &loader->sampler));
    loader->batching.sampler = loader->sampler;
    return cse_mixing_is_asked(settings)
               ? cse_mixing_wrap(settings, seed, loader->sampler, &loader->input)
               : CSE_OK;
}

static cse_status leave_out(const cse_settings *settings, cse_dataloader *loader)
{
    CSE_TRY(
        cse_left_out_check_samples(settings, loader->input.sample_count, loader->input.is_stream));
    cse_left_out_read(settings, &loader->without);
    loader->batching.without = loader->without.count > 0 ? &loader->without : NULL;
    return CSE_OK;
}

/* What a data loader is opened for. */
typedef enum purpose { FOR_A_RUN, FOR_PREDICTIONS, FOR_ITS_LABELS } purpose;

static cse_status open_loader(const cse_settings *settings, uint64_t default_seed, purpose use,
                              cse_dataloader **loader)
{
    cse_dataloader_section section;
    *loader = NULL;
    CSE_TRY(cse_dataloader_section_read(settings, default_seed, &section));
    /* What samples hold depends on its code, too. */
    if (section.library != NULL)
        CSE_TRY(cse_data_note_library(section.library->descriptor, section.library->path));
    cse_dataloader *opened = loader_of(&section);
    opened->input.may_lack_answers = use == FOR_PREDICTIONS;
    cse_status status = section.descriptor->open(&opened->input, settings);
    opened->batching.is_stream = opened->input.is_stream;
    if (status != CSE_OK) {
        free(opened);
    } else {
        *loader = opened;
        status = cse_dataloader_section_check_samples(&section, opened->input.sample_count);
        if (status == CSE_OK)
            status = leave_out(settings, opened);
        if (status == CSE_OK && use == FOR_A_RUN)
            status = choose_and_mix(settings, opened);
        if (status == CSE_OK)
            status = lay_out(opened);
        if (status != CSE_OK) {
            cse_dataloader_close(loader);
        } else {
            make_lists(opened);
            choose_first(opened);
        }
    }
    return status;
}

cse_status cse_dataloader_open(const cse_settings *settings, uint64_t default_seed,
                               cse_dataloader **loader)
{
    return open_loader(settings, default_seed, FOR_A_RUN, loader);
}

cse_status cse_dataloader_open_unanswered(const cse_settings *settings, uint64_t default_seed,
                                          cse_dataloader **loader)
{
    return open_loader(settings, default_seed, FOR_PREDICTIONS, loader);
}

cse_status cse_dataloader_open_plain(const cse_settings *settings, uint64_t default_seed,
                                     cse_dataloader **loader)
{
    return open_loader(settings, default_seed, FOR_ITS_LABELS, loader);
}

/* So many batches that no usual limit of steps depends on them. */
enum { UNSEEN_BATCHES = 1 << 30 };

cse_status cse_dataloader_describe(const cse_settings *settings, uint64_t default_seed,
                                   const cse_unseen_data *known, cse_dataloader **loader)
{
    cse_dataloader_section section;
    *loader = NULL;
    CSE_TRY(cse_dataloader_section_read(settings, default_seed, &section));
    if (section.descriptor->describe == NULL)
        return cse_fail(CSE_USAGE, "data loader: %s does not know its samples without the data",
                        section.descriptor->name);
    cse_dataloader *described = loader_of(&section);
    if (__builtin_mul_overflow(section.batching.batch_size, (int64_t)UNSEEN_BATCHES,
                               &described->input.sample_count))
        described->input.sample_count = INT64_MAX;
    described->is_unseen = true;
    *loader = described;
    cse_status status = section.descriptor->describe(&described->input, settings, known);
    if (status == CSE_OK && cse_mixing_is_asked(settings))
        status = cse_mixing_describe(settings, &described->input);
    if (status == CSE_OK)
        status = lay_out(described);
    if (status != CSE_OK)
        cse_dataloader_close(loader);
    return status;
}

bool cse_dataloader_is_unseen(const cse_dataloader *loader)
{
    return loader->is_unseen;
}

/* Copies what another host says of its source. */
static void copy_input(cse_arena *arena, const cse_input *known, cse_input *input)
{
    const char **names = cse_arena_alloc(arena, ((size_t)known->class_count + 1) * sizeof *names);
    input->sample_count = known->sample_count;
    input->stream_count = known->stream_count;
    memcpy(input->source, known->source, sizeof input->source);
    for (int s = 0; s < known->stream_count; s++) {
        input->streams[s] = known->streams[s];
        input->streams[s].name = cse_arena_string(arena, known->streams[s].name);
    }
    for (int c = 0; c < known->class_count; c++)
        names[c] = cse_arena_string(arena, known->class_names[c]);
    input->class_names = known->class_names != NULL ? names : NULL;
    input->class_count = known->class_count;
}

cse_status cse_dataloader_of_other(const cse_settings *settings, uint64_t default_seed,
                                   const cse_input *known, cse_dataloader **loader)
{
    cse_dataloader_section section;
    *loader = NULL;
    CSE_TRY(cse_dataloader_section_read(settings, default_seed, &section));
    CSE_TRY(cse_dataloader_section_check_samples(&section, known->sample_count));
    cse_dataloader *other = loader_of(&section);
    cse_settings_leave(settings); /* what samples hold is the other host's to read */
    other->is_unseen = true;
    other->arena = cse_arena_new();
    copy_input(other->arena, known, &other->input);
    *loader = other;
    cse_status status = leave_out(settings, other);
    if (status == CSE_OK)
        status = lay_out(other);
    if (status != CSE_OK)
        cse_dataloader_close(loader);
    else
        choose_first(other);
    return status;
}

void cse_dataloader_close(cse_dataloader **loader)
{
    if (*loader == NULL)
        return;
    if (!(*loader)->is_unseen)
        (*loader)->input.descriptor->close(&(*loader)->input);
    if ((*loader)->arena != NULL)
        cse_arena_destroy(&(*loader)->arena);
    cse_weighted_destroy(&(*loader)->sampler);
    cse_left_out_clear(&(*loader)->without);
    free((*loader)->samples);
    free((*loader)->epochs);
    free(*loader);
    *loader = NULL;
}

const cse_input *cse_dataloader_input_view(const cse_dataloader *loader)
{
    return &loader->input;
}

cse_input *cse_dataloader_open_input(cse_dataloader *loader)
{
    return &loader->input;
}

const cse_batching *cse_dataloader_batching_view(const cse_dataloader *loader)
{
    return &loader->batching;
}

int64_t cse_dataloader_steps_per_epoch(const cse_dataloader *loader)
{
    return cse_position_steps_per_epoch(&loader->batching, loader->input.sample_count);
}

int64_t cse_dataloader_microbatch_bytes(const cse_dataloader *loader)
{
    return loader->microbatch_bytes;
}

int64_t cse_dataloader_stream_offset(const cse_dataloader *loader, int stream)
{
    return loader->stream_offset[stream];
}

cse_status cse_dataloader_read(cse_dataloader *loader, int64_t step, int64_t m, void *bytes)
{
    const cse_batching *batching = &loader->batching;
    const int64_t microbatches = cse_batching_microbatches(batching);
    void *outputs[CSE_MAX_STREAMS] = { NULL };
    if (step < 0 || m < 0 || m >= microbatches)
        return cse_fail(CSE_INTERNAL,
                        "data loader: microbatch %" PRId64 " of step %" PRId64
                        " was asked for: there are 0 to %" PRId64 ", and steps count from 0",
                        m, step, microbatches - 1);
    if (loader->step != step) {
        loader->step = step;
        loader->step_samples = cse_dataloader_batch_samples(loader, step);
    }
    if (loader->step_samples != cse_batching_samples(batching))
        return cse_fail(CSE_INTERNAL,
                        "data loader: step %" PRId64 " was asked for, whose batch has another "
                        "number of samples than those that are read",
                        step);
    for (int s = 0; s < loader->input.stream_count; s++) {
        int64_t offset = loader->stream_offset[s], used = loader->stream_bytes[s];
        outputs[s] = (unsigned char *)bytes + offset;
        memset((unsigned char *)outputs[s] + used, 0, (size_t)(aligned(used) - used));
    }
    cse_position position = cse_position_of(batching, loader->input.sample_count, step, m);
    cse_position_samples(batching, loader->input.sample_count, position, loader->samples,
                         loader->epochs);
    loader->input.epochs = loader->epochs;
    cse_status status = loader->input.descriptor->read(&loader->input, loader->samples,
                                                       batching->micro_batch_size, outputs);
    loader->input.epochs = NULL; /* it has the length of this read */
    return status;
}

cse_status cse_dataloader_read_samples(cse_dataloader *loader, int64_t first, int64_t count,
                                       void *const outputs[])
{
    int64_t *indices = cse_calloc((size_t)count, sizeof *indices);
    for (int64_t i = 0; i < count; i++)
        indices[i] = first + i;
    cse_status status = loader->input.descriptor->read(&loader->input, indices, count, outputs);
    free(indices);
    return status;
}

void cse_dataloader_locate(const cse_dataloader *loader, int stream, int64_t index, char *text,
                           size_t size)
{
    const cse_input *input = &loader->input;
    const int64_t elements = cse_shape_elements(input->streams[stream].shape);
    const cse_element_place place = { .stream = stream,
                                      .sample = loader->samples[index / elements],
                                      .epoch = loader->epochs[index / elements],
                                      .element = index % elements };
    char source[PATH_MAX + 64] = "";
    if (input->descriptor->locate != NULL)
        input->descriptor->locate(input, &place, source, sizeof source);
    snprintf(text, size, "%s%ssample %" PRId64 "%s", source, *source != '\0' ? " (" : "",
             place.sample, *source != '\0' ? ")" : "");
}
