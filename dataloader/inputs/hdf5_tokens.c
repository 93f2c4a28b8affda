/* The input functions' open, read and the rest. */
#include "dataloader/inputs/hdf5_tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/epoch_length.h"
#include "dataloader/inputs/sink_tokens.h"
#include "dataloader/inputs/token_streams.h"
#include "dataloader/positions/shuffle.h"
#include "dataloader/tokens/token_sources.h"
#include "dataloader/tokens/unseen_length.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"

enum { VSL_STREAMS = 2, FEATURES = CSE_TOKEN_STREAMS + VSL_STREAMS };

/* By stream. */
static const char *const feature_names[FEATURES] = { "input_ids", "labels", "attention_mask",
                                                     "attention_span", "position_ids" };

typedef struct hdf5_tokens {
    cse_token_sources sources;
    cse_mixture mixture;
    cse_epoch_length epoch;
    cse_sink_tokens sinks;
    bool is_mixture, masks_labels;
    int feature_of_stream[FEATURES]; /* in sample form */
    int32_t *row;                    /* [features, time], or [time + 1] */
    int32_t *mask;                   /* [time], where it is no stream */
} hdf5_tokens;

/* ---- settings ---- */

static cse_status part_of(const cse_settings *settings, double part[2])
{
    int used = 0;
    part[0] = 0;
    part[1] = 1;
    if (!cse_settings_has(settings, "data_subset"))
        return CSE_OK;
    const char *text = cse_settings_text(settings, "data_subset");
    if (sscanf(text, "%lf-%lf%n", &part[0], &part[1], &used) == 2 && text[used] == '\0' &&
        part[0] >= 0 && part[0] < part[1] && part[1] <= 1)
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "data loader: %s: data_subset is \"%s\": accepted are two fractions of the "
                    "samples such as \"0.0-0.9\", the first one smaller",
                    cse_settings_origin(settings, "data_subset"), text);
}

static cse_status wrong_mixture(const cse_settings *settings, const char *what)
{
    return cse_fail(CSE_CONFIG,
                    "data loader: %s: mixture %s: accepted is a list of {data_dir: FOLDER, weight: "
                    "NUMBER above 0}",
                    cse_settings_origin(settings, "mixture"), what);
}

static cse_status add_entry(hdf5_tokens *self, const cse_settings *settings, cse_yaml_node *entry,
                            const double part[2], double *weight)
{
    cse_yaml_node *folder = cse_yaml_find(entry, "data_dir");
    cse_yaml_node *share = cse_yaml_find(entry, "weight");
    char *end = NULL;
    if (entry->kind != CSE_YAML_MAPPING || entry->count != 2 || folder == NULL || share == NULL ||
        folder->kind != CSE_YAML_SCALAR || share->kind != CSE_YAML_SCALAR)
        return wrong_mixture(settings, "has an entry without these two");
    entry->read = folder->read = share->read = true;
    *weight = strtod(share->text, &end);
    if (end == share->text || *end != '\0' || !(*weight > 0) || *weight > 1e30)
        return wrong_mixture(settings, "has a weight that is no number above 0");
    const char *const path = folder->text;
    return cse_token_sources_add(&self->sources, &path, 1, part);
}

static cse_status add_mixture(hdf5_tokens *self, const cse_settings *settings, const double part[2])
{
    double weights[CSE_MIXTURE_SOURCES];
    cse_yaml_node *list = cse_yaml_find(settings->node, "mixture");
    if (list == NULL || list->kind != CSE_YAML_SEQUENCE || list->count < 1)
        return wrong_mixture(settings, "is no list");
    if (list->count > CSE_MIXTURE_SOURCES)
        return wrong_mixture(settings, "has more than 256 entries");
    list->read = true;
    for (int i = 0; i < list->count; i++)
        CSE_TRY(add_entry(self, settings, list->children[i], part, &weights[i]));
    self->is_mixture = true;
    self->mixture.count = self->sources.count;
    for (int i = 0; i < self->sources.count; i++)
        self->mixture.samples[i] = self->sources.sources[i].samples;
    cse_mixture_make(&self->mixture, weights);
    return CSE_OK;
}

static cse_status find_features(hdf5_tokens *self, const cse_settings *settings, int streams)
{
    const int named = cse_settings_count(settings, "features");
    for (int s = 0; s < streams && self->sources.features > 0; s++) {
        int feature = 0;
        while (feature < named &&
               strcmp(cse_settings_text_at(settings, "features", feature), feature_names[s]) != 0)
            feature++;
        if (feature >= named || feature >= self->sources.features)
            return cse_fail(CSE_CONFIG,
                            "data loader: %s: the files have %" PRId64
                            " features, and features does not say which of them is %s",
                            cse_settings_origin(settings, "features"), self->sources.features,
                            feature_names[s]);
        self->feature_of_stream[s] = feature;
    }
    return CSE_OK;
}

/* ---- the input function ---- */

void cse_hdf5_tokens_close(cse_input *input)
{
    hdf5_tokens *self = input->self;
    cse_token_sources_clear(&self->sources);
    free(self->row);
    free(self->mask);
    free(self);
    input->self = NULL;
}

static cse_status open_sources(hdf5_tokens *self, const cse_settings *settings)
{
    double part[2];
    const bool has_folder = cse_settings_has(settings, "data_dir");
    CSE_TRY(part_of(settings, part));
    cse_token_sources_begin(&self->sources,
                            cse_settings_has(settings, "max_sequence_length")
                                ? cse_settings_integer(settings, "max_sequence_length")
                                : 0);
    if (has_folder == cse_settings_has(settings, "mixture"))
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: give either data_dir or mixture, one of the two",
                        cse_settings_origin(settings, "data_dir"));
    if (!has_folder)
        return add_mixture(self, settings, part);
    const int count = cse_settings_count(settings, "data_dir");
    const char **paths = cse_calloc((size_t)count, sizeof *paths);
    for (int i = 0; i < count; i++)
        paths[i] = cse_settings_text_at(settings, "data_dir", i);
    cse_status status = cse_token_sources_add(&self->sources, paths, count, part);
    free(paths);
    return status;
}

/* A mixture orders its samples itself, by both seeds. */
static void count_samples(cse_input *input, const cse_settings *settings)
{
    hdf5_tokens *self = input->self;
    int64_t samples = 0;
    for (int i = 0; i < self->sources.count; i++)
        samples += self->sources.sources[i].samples;
    cse_epoch_length_read(settings, samples, input, &self->epoch);
    input->is_stream = input->is_stream || self->is_mixture;
    if (self->is_mixture)
        self->mixture.seed = cse_shuffle_key(
            (uint64_t)cse_settings_integer(settings, "mixture_seed"), (int64_t)input->seed);
}

static void describe_streams(cse_input *input, const cse_settings *settings, int64_t time)
{
    const bool has_spans = cse_settings_bool(settings, "use_vsl");
    cse_describe_tokens(input, time, cse_settings_bool(settings, "attention_mask") || has_spans);
    for (int s = CSE_TOKEN_STREAMS; s < FEATURES && has_spans; s++)
        input->streams[input->stream_count++] =
            (cse_stream){ .name = feature_names[s], .shape = cse_shape_of(time), CSE_INT32 };
}

static cse_status check_sinks(const hdf5_tokens *self, const cse_settings *settings)
{
    const char *const origin = cse_settings_origin(settings, "data_transforms");
    if (self->sinks.count > 0 && cse_settings_bool(settings, "use_vsl"))
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: add_sink_tokens takes samples of one sequence alone, "
                        "without use_vsl",
                        origin);
    return self->sinks.place <= self->sources.time
               ? CSE_OK
               : cse_fail(CSE_CONFIG,
                          "data loader: %s: sink_token_start_pos is %" PRId64 ", and samples have "
                          "%" PRId64 " tokens",
                          origin, self->sinks.place, self->sources.time);
}

cse_status cse_hdf5_tokens_open(cse_input *input, const cse_settings *settings)
{
    hdf5_tokens *self = input->self = cse_calloc(1, sizeof *self);
    const bool has_mask = cse_settings_bool(settings, "attention_mask");
    const bool has_spans = cse_settings_bool(settings, "use_vsl");
    self->masks_labels = cse_settings_bool(settings, "mask_labels");
    cse_status status = cse_sink_tokens_read(settings, &self->sinks);
    if (status == CSE_OK)
        status = open_sources(self, settings);
    if (status == CSE_OK)
        status = check_sinks(self, settings);
    if (status == CSE_OK)
        status = find_features(self, settings, has_spans ? FEATURES : CSE_TOKEN_STREAMS);
    if (status != CSE_OK) {
        cse_hdf5_tokens_close(input);
        return status;
    }
    count_samples(input, settings);
    const int64_t time = self->sources.time, rows = self->sources.features;
    self->row = cse_calloc((size_t)(rows > 0 ? rows * time + 1 : time + 1), sizeof *self->row);
    snprintf(input->source, sizeof input->source, "%s",
             cse_file_pool_path_view(self->sources.pool, 0));
    describe_streams(input, settings, cse_sink_tokens_length(&self->sinks, time));
    if (!has_mask && !has_spans)
        self->mask = cse_calloc((size_t)(time + self->sinks.count), sizeof *self->mask);
    return CSE_OK;
}

/* Files say how long a sample is, and without them max_sequence_length does, or the model. */
cse_status cse_hdf5_tokens_describe(cse_input *input, const cse_settings *settings,
                                    const cse_unseen_data *known)
{
    double part[2];
    cse_sink_tokens sinks;
    CSE_TRY(part_of(settings, part));
    CSE_TRY(cse_sink_tokens_read(settings, &sinks));
    int64_t length;
    CSE_TRY(cse_unseen_length(settings, known, &length));
    if (cse_settings_has(settings, "max_sequence_length"))
        length = cse_sink_tokens_length(&sinks, length);
    describe_streams(input, settings, length);
    return CSE_OK;
}

static cse_token_place place_of(const hdf5_tokens *self, int64_t index, int64_t epoch)
{
    cse_mixture_place place = { .source = 0 };
    int64_t pass = epoch;
    if (self->is_mixture) {
        place = cse_mixture_at(&self->mixture, index);
    } else {
        place.sample = cse_epoch_length_sample(&self->epoch, index, &pass);
        place.pass = pass;
    }
    return cse_token_sources_find(&self->sources, place);
}

/* One sequence: labels are the tokens one place further, and all count. */
static void copy_corpus(const hdf5_tokens *self, int stream, int32_t *to)
{
    const int64_t time = self->sources.time;
    if (stream < CSE_MASK_STREAM) {
        memcpy(to, self->row + stream, (size_t)time * sizeof *to);
        return;
    }
    for (int64_t t = 0; t < time; t++)
        to[t] = stream == CSE_MASK_STREAM       ? 1
                : stream == CSE_MASK_STREAM + 1 ? (int32_t)(time - 1 - t)
                                                : (int32_t)t;
}

/* Where a sample stands: in the file, or in `row`. */
typedef struct found {
    cse_token_place place;
    bool lies_open, is_corpus;
} found;

static cse_status copy_stream(hdf5_tokens *self, const found *f, int stream, int32_t *to)
{
    const int64_t time = self->sources.time;
    if (f->lies_open)
        return cse_token_sources_read_feature(&self->sources, f->place,
                                              self->feature_of_stream[stream], to);
    if (f->is_corpus)
        copy_corpus(self, stream, to);
    else
        memcpy(to, self->row + self->feature_of_stream[stream] * time, (size_t)time * sizeof *to);
    return CSE_OK;
}

/* A stream of the sample, with its sinks, of which the mask is 0. */
static cse_status put_stream(hdf5_tokens *self, const found *f, int stream, int32_t *to)
{
    CSE_TRY(copy_stream(self, f, stream, to));
    cse_sink_tokens_put(&self->sinks, self->sources.time,
                        stream == CSE_MASK_STREAM ? 0 : self->sinks.token, to);
    return CSE_OK;
}

static int64_t epoch_of(const cse_input *input, int64_t i)
{
    return input->epochs != NULL ? input->epochs[i] : 0;
}

static cse_status read_one(cse_input *input, int64_t index, int64_t i, void *const outputs[])
{
    hdf5_tokens *self = input->self;
    const int64_t time = cse_sink_tokens_length(&self->sinks, self->sources.time);
    found f = { .place = place_of(self, index, epoch_of(input, i)) };
    f.is_corpus = self->sources.files[f.place.file].is_corpus;
    CSE_TRY(cse_token_sources_lies_open(&self->sources, f.place, &f.lies_open));
    if (!f.lies_open)
        CSE_TRY(cse_token_sources_read(&self->sources, f.place, self->row));
    for (int s = 0; s < input->stream_count; s++)
        CSE_TRY(put_stream(self, &f, s, (int32_t *)outputs[s] + i * time));
    if (!self->masks_labels)
        return CSE_OK;
    const int32_t *mask = self->mask;
    if (mask != NULL)
        CSE_TRY(put_stream(self, &f, CSE_MASK_STREAM, self->mask));
    else
        mask = (const int32_t *)outputs[CSE_MASK_STREAM] + i * time;
    cse_ignore_masked((int32_t *)outputs[CSE_LABELS_STREAM] + i * time, mask, time);
    return CSE_OK;
}

cse_status cse_hdf5_tokens_read(cse_input *input, const int64_t *indices, int64_t count,
                                void *const outputs[])
{
    const hdf5_tokens *self = input->self;
    cse_file_pool_look_once(self->sources.pool);
    for (int64_t i = 0; i < count; i++) {
        if (i + 1 < count)
            cse_token_sources_expect(&self->sources,
                                     place_of(self, indices[i + 1], epoch_of(input, i + 1)));
        CSE_TRY(read_one(input, indices[i], i, outputs));
    }
    return CSE_OK;
}

void cse_hdf5_tokens_locate(const cse_input *input, const cse_element_place *place, char *text,
                            size_t size)
{
    const hdf5_tokens *self = input->self;
    const cse_token_place at = place_of(self, place->sample, place->epoch);
    const char *const path = cse_file_pool_path_view(self->sources.pool, at.file);
    if (self->sources.files[at.file].is_corpus)
        snprintf(text, size, "%s: token %" PRId64, path,
                 at.token + place->element + (place->stream == CSE_LABELS_STREAM));
    else
        snprintf(text, size, "%s: row %" PRId64 ", token %" PRId64, path, at.row, place->element);
}
