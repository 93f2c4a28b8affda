/* Of each file both datasets are open while it is, and have the same samples. */
#include "dataloader/inputs/masked_tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dataloader/epoch_length.h"
#include "dataloader/files/file_list.h"
#include "dataloader/files/file_pool.h"
#include "dataloader/files/part_of.h"
#include "dataloader/formats/hdf5_table.h"
#include "dataloader/tokens/unseen_length.h"
#include "engine/base/config/settings.h"

enum { DATA, LABELS, TABLES };
enum { PLAIN_FEATURES = 2, SPAN_FEATURES = 4, GATHERED_FEATURES = 3, MOST_TIME = 1 << 24 };

static const char *const table_names[TABLES] = { "data", "labels" };
static const char *const feature_names[TABLES][SPAN_FEATURES] = {
    { "input_ids", "attention_mask", "attention_span", "position_ids" },
    { "labels", "masked_lm_positions", "masked_lm_mask" },
};

typedef struct masked_file {
    int64_t first, samples;         /* its first sample among all */
    cse_hdf5_table *tables[TABLES]; /* NULL: closed */
} masked_file;

typedef struct masked_tokens {
    cse_file_pool *pool;
    masked_file *files; /* by the pool's numbers */
    int count, capacity;
    int64_t features[TABLES], length[TABLES]; /* 0: not known yet */
    int used[TABLES];                         /* the first features are streams */
    int64_t samples;
    cse_epoch_length epoch;
    int32_t *row;
} masked_tokens;

const cse_setting cse_masked_tokens_settings[] = {
    { .name = "data_dir",
      .type = CSE_SETTING_PATHS,
      .doc = "folders of *.h5 files, or such files, read as one" },
    { .name = "use_vsl",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "several sequences in a sample: attention_span and position_ids are streams, too" },
    { .name = "max_sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = MOST_TIME,
      .doc = "tokens of a sample; null: as the files say" },
    CSE_EPOCH_LENGTH_SETTING,
    { .name = "vocab_size",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "no effect: the model's vocab_size counts" },
    { 0 },
};

/* ---- files ---- */

static void close_tables(void *argument, int file)
{
    masked_tokens *self = argument;
    for (int t = 0; t < TABLES && file < self->count; t++)
        cse_hdf5_table_close(&self->files[file].tables[t]);
}

static cse_status open_tables(masked_tokens *self, int file)
{
    int descriptor;
    masked_file *f = &self->files[file];
    CSE_TRY(cse_file_pool_descriptor(self->pool, file, &descriptor));
    for (int t = 0; t < TABLES; t++)
        if (f->tables[t] == NULL)
            CSE_TRY(cse_hdf5_table_open(descriptor, cse_file_pool_path_view(self->pool, file),
                                        table_names[t], &f->tables[t]));
    return CSE_OK;
}

static cse_status take_shape(masked_tokens *self, int file, int t)
{
    char text[160];
    masked_file *f = &self->files[file];
    const char *path = cse_file_pool_path_view(self->pool, file);
    const cse_shape shape = cse_hdf5_table_shape(f->tables[t]);
    const bool good = shape.rank == 3 && shape.dims[2] >= 1 && shape.dims[2] <= MOST_TIME &&
                      (t == DATA ? shape.dims[1] == PLAIN_FEATURES || shape.dims[1] == SPAN_FEATURES
                                 : shape.dims[1] == 1 || shape.dims[1] == GATHERED_FEATURES);
    if (!good)
        return cse_fail(CSE_DATA, "%s: dataset %s has the shape %s; accepted: %s", path,
                        table_names[t], cse_shape_text(shape, text, sizeof text),
                        t == DATA ? "[samples, 2 or 4 features, time]"
                                  : "[samples, 1 feature, time] and [samples, 3 features, places]");
    if (t == DATA)
        f->samples = shape.dims[0];
    else if (f->samples != shape.dims[0])
        return cse_fail(CSE_DATA, "%s: data has %" PRId64 " samples, and labels %" PRId64, path,
                        f->samples, shape.dims[0]);
    if (self->features[t] == 0) {
        self->features[t] = shape.dims[1];
        self->length[t] = shape.dims[2];
    }
    if (self->features[t] == shape.dims[1] && self->length[t] == shape.dims[2])
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "%s: dataset %s has the shape %s, and other files [samples, %" PRId64
                    ", %" PRId64 "]",
                    path, table_names[t], cse_shape_text(shape, text, sizeof text),
                    self->features[t], self->length[t]);
}

static cse_status add_file(masked_tokens *self, const char *path)
{
    int file;
    CSE_TRY(cse_file_pool_add(self->pool, path, &file));
    CSE_GROW(self->files, file, self->capacity);
    self->files[file] = (masked_file){ .first = self->samples };
    self->count = file + 1;
    CSE_TRY(open_tables(self, file));
    for (int t = 0; t < TABLES; t++)
        CSE_TRY(take_shape(self, file, t));
    self->samples += self->files[file].samples;
    return CSE_OK;
}

static cse_status add_path(masked_tokens *self, const char *path)
{
    struct stat info;
    cse_file_list list = { 0 };
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return add_file(self, path);
    cse_status status = cse_file_list_read(&list, path, ".h5|.hdf5");
    if (status == CSE_OK && list.count == 0)
        status = cse_fail(CSE_NO_INPUT, "%s: no file ends in .h5 or .hdf5", path);
    for (int i = 0; i < list.count && status == CSE_OK; i++)
        status = add_file(self, cse_arena_printf(list.arena, "%s/%s", path, list.names[i]));
    cse_file_list_clear(&list);
    return status;
}

/* ---- streams ---- */

static void add_streams(cse_input *input, const masked_tokens *self)
{
    static const struct {
        int table, from, to;
    } order[] = { { DATA, 0, PLAIN_FEATURES },
                  { LABELS, 0, GATHERED_FEATURES },
                  { DATA, PLAIN_FEATURES, SPAN_FEATURES } };
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        for (int f = order[i].from; f < order[i].to && f < self->used[order[i].table]; f++)
            input->streams[input->stream_count++] =
                (cse_stream){ .name = feature_names[order[i].table][f],
                              .shape = cse_shape_of(self->length[order[i].table]),
                              .dtype = CSE_INT32 };
}

static cse_status check(masked_tokens *self, const cse_settings *settings)
{
    const bool has_spans = cse_settings_bool(settings, "use_vsl");
    const bool gathers = self->features[LABELS] == GATHERED_FEATURES;
    self->used[DATA] = has_spans ? SPAN_FEATURES : PLAIN_FEATURES;
    self->used[LABELS] = (int)self->features[LABELS];
    if (has_spans && self->features[DATA] != SPAN_FEATURES)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: use_vsl needs attention_span and position_ids, and the "
                        "files have %" PRId64 " features",
                        cse_settings_origin(settings, "use_vsl"), self->features[DATA]);
    if (cse_settings_has(settings, "max_sequence_length") &&
        cse_settings_integer(settings, "max_sequence_length") != self->length[DATA])
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: max_sequence_length is %" PRId64
                        ", and samples have %" PRId64 " tokens",
                        cse_settings_origin(settings, "max_sequence_length"),
                        cse_settings_integer(settings, "max_sequence_length"), self->length[DATA]);
    if (!gathers && self->length[LABELS] != self->length[DATA])
        return cse_fail(CSE_DATA,
                        "%s: samples have %" PRId64 " tokens and %" PRId64
                        " labels, without the features masked_lm_positions and masked_lm_mask",
                        cse_file_pool_path_view(self->pool, 0), self->length[DATA],
                        self->length[LABELS]);
    return CSE_OK;
}

/* ---- the input function ---- */

void cse_masked_tokens_close(cse_input *input)
{
    masked_tokens *self = input->self;
    cse_file_pool_destroy(&self->pool);
    free(self->files);
    free(self->row);
    free(self);
    input->self = NULL;
}

static cse_status open_all(masked_tokens *self, const cse_settings *settings)
{
    for (int i = 0; i < cse_settings_count(settings, "data_dir"); i++)
        CSE_TRY(add_path(self, cse_settings_text_at(settings, "data_dir", i)));
    return check(self, settings);
}

cse_status cse_masked_tokens_open(cse_input *input, const cse_settings *settings)
{
    masked_tokens *self = input->self = cse_calloc(1, sizeof *self);
    self->pool = cse_file_pool_new(close_tables, self);
    cse_status status = open_all(self, settings);
    if (status != CSE_OK) {
        cse_masked_tokens_close(input);
        return status;
    }
    const int64_t data = self->features[DATA] * self->length[DATA];
    const int64_t labels = self->features[LABELS] * self->length[LABELS];
    self->row = cse_calloc((size_t)(data > labels ? data : labels), sizeof *self->row);
    add_streams(input, self);
    cse_epoch_length_read(settings, self->samples, input, &self->epoch);
    snprintf(input->source, sizeof input->source, "%s", cse_file_pool_path_view(self->pool, 0));
    return CSE_OK;
}

/* One label for each token. */
cse_status cse_masked_tokens_describe(cse_input *input, const cse_settings *settings,
                                      const cse_unseen_data *known)
{
    int64_t time;
    CSE_TRY(cse_unseen_length(settings, known, &time));
    const masked_tokens like = {
        .length = { time, time },
        .used = { cse_settings_bool(settings, "use_vsl") ? SPAN_FEATURES : PLAIN_FEATURES, 1 },
    };
    add_streams(input, &like);
    return CSE_OK;
}

static int find(const masked_tokens *self, int64_t index, int64_t *row)
{
    int64_t pass = 0;
    const int64_t sample = cse_epoch_length_sample(&self->epoch, index, &pass);
    const int file =
        (int)cse_part_of(&self->files[0].first, sizeof self->files[0], self->count, sample);
    *row = sample - self->files[file].first;
    return file;
}

static int feature_of(const cse_stream *stream, int t)
{
    for (int f = 0; f < SPAN_FEATURES && feature_names[t][f] != NULL; f++)
        if (strcmp(feature_names[t][f], stream->name) == 0)
            return f;
    return -1;
}

static cse_status read_one(cse_input *input, int64_t sample, int64_t place, void *const outputs[])
{
    int64_t row;
    masked_tokens *self = input->self;
    const int file = find(self, sample, &row);
    CSE_TRY(open_tables(self, file));
    for (int t = 0; t < TABLES; t++) {
        const int64_t starts[] = { row, 0, 0 }, length = self->length[t];
        const int64_t counts[] = { 1, self->features[t], length };
        CSE_TRY(
            cse_hdf5_table_read(self->files[file].tables[t], starts, counts, CSE_INT32, self->row));
        for (int s = 0; s < input->stream_count; s++) {
            const int feature = feature_of(&input->streams[s], t);
            if (feature >= 0)
                memcpy((int32_t *)outputs[s] + place * length, self->row + feature * length,
                       (size_t)length * sizeof *self->row);
        }
    }
    return CSE_OK;
}

cse_status cse_masked_tokens_read(cse_input *input, const int64_t *indices, int64_t count,
                                  void *const outputs[])
{
    for (int64_t i = 0; i < count; i++)
        CSE_TRY(read_one(input, indices[i], i, outputs));
    return CSE_OK;
}

void cse_masked_tokens_locate(const cse_input *input, const cse_element_place *place, char *text,
                              size_t size)
{
    int64_t row;
    const masked_tokens *self = input->self;
    const int file = find(self, place->sample, &row);
    snprintf(text, size, "%s: row %" PRId64 ", element %" PRId64,
             cse_file_pool_path_view(self->pool, file), row, place->element);
}
