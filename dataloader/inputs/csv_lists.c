/* Lines are parsed when they are asked for. */
#include "dataloader/inputs/csv_lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/modules.h"
#include "dataloader/bad_records.h"
#include "dataloader/files/file_list.h"
#include "dataloader/files/line_index.h"
#include "dataloader/files/part_of.h"
#include "dataloader/tokens/unseen_length.h"
#include "engine/base/arena.h"

/* Keys that the ModelZoo accepts and ignores. */
#define NO_EFFECT(name_)                                                   \
    {                                                                      \
        .name = (name_), .type = CSE_SETTING_ANY, .default_value = "null", \
        .doc = "no effect: the files say it"                               \
    }

enum { FEATURES = 7, REQUIRED = 3, SENTENCE_FEATURES = 5, MOST_COLUMNS = 64, MOST_LIST = 1 << 20 };

static const struct {
    const char *column, *stream;
    bool of_sentences; /* left out with disable_nsp */
} features[FEATURES] = {
    { "input_ids", "input_ids", false },
    { "attention_mask", "attention_mask", false },
    { "labels", "labels", false },
    { "token_type_ids", "token_type_ids", true },
    { "next_sentence_label", "next_sentence_label", true },
    { "masked_lm_positions", "masked_lm_positions", false },
    { "masked_lm_weights", "masked_lm_mask", false },
};

typedef struct table {
    cse_line_index lines;                /* the header first */
    int64_t first;                       /* its first sample among all */
    int feature_of_column[MOST_COLUMNS]; /* -1: not read */
    int columns;
} table;

typedef struct csv_lists {
    cse_file_pool *pool;
    table *tables; /* by the pool's numbers */
    int table_count, capacity;
    int64_t samples;
    int stream_of_feature[FEATURES]; /* -1: it is no stream */
    int64_t lengths[FEATURES];       /* of the lists; 0: one number */
    char *line;
    size_t line_bytes;
    bool has_sentences;
    cse_bad_records bad;
    /* of the sample that is being read */
    void *const *outputs;
    int64_t place;
} csv_lists;

const cse_setting cse_csv_lists_settings[] = {
    { .name = "data_dir",
      .type = CSE_SETTING_PATHS,
      .doc = "folders of *.csv files, which have the same columns" },
    { .name = "disable_nsp",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "token_type_ids and next_sentence_label are left out" },
    { .name = "max_sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = MOST_LIST,
      .doc = "tokens of a sample, where the files are not there to say it" },
    CSE_UNSUPPORTED_SETTING("dynamic_mlm_scale", "false", "a scale of the loss in each batch"),
    CSE_UNSUPPORTED_SETTING("buckets", "null", "batches of samples of like length"),
    NO_EFFECT("vocab_size"),
    NO_EFFECT("vocab_file"),
    NO_EFFECT("max_position_embeddings"),
    NO_EFFECT("max_predictions_per_seq"),
    NO_EFFECT("masked_lm_prob"),
    NO_EFFECT("whole_word_masking"),
    NO_EFFECT("do_lower"),
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

/* ---- a line ---- */

static cse_status read_line(csv_lists *self, int file, int64_t number)
{
    const cse_line *line = &self->tables[file].lines.lines[number];
    if ((size_t)line->bytes + 1 > self->line_bytes) {
        self->line_bytes = (size_t)line->bytes * 2 + 1;
        self->line = cse_realloc(self->line, self->line_bytes);
    }
    CSE_TRY(cse_file_pool_read(self->pool, file, line->offset, self->line, (size_t)line->bytes));
    self->line[line->bytes] = '\0';
    return CSE_OK;
}

/* Ends the field at `*at`, which moves behind it, and returns it without quotes; NULL after the
 * last one. */
static char *take_field(char **at)
{
    char *field = *at;
    if (field == NULL)
        return NULL;
    char *end;
    if (*field == '"') {
        end = strchr(++field, '"');
        if (end == NULL)
            end = field + strlen(field);
        else
            *end++ = '\0';
        end += strcspn(end, ",");
    } else {
        end = field + strcspn(field, ",\r");
    }
    *at = *end == ',' ? end + 1 : NULL;
    *end = '\0';
    return field;
}

/* "[1, 2]" or "1": how many numbers, which are written to `to` if that is not NULL; -1 where it is
 * neither, or `most` are too few. */
static int64_t read_numbers(const char *text, int32_t *to, int64_t most)
{
    int64_t count = 0;
    const bool is_list = *text == '[';
    text += is_list;
    for (;;) {
        char *end;
        text += strspn(text, " \t");
        const long long value = strtoll(text, &end, 10);
        if (end == text || value < INT32_MIN || value > INT32_MAX || count == most)
            return -1;
        if (to != NULL)
            to[count] = (int32_t)value;
        count++;
        text = end + strspn(end, " \t");
        if (!is_list)
            return *text == '\0' ? count : -1;
        if (*text == ']')
            return text[1] == '\0' ? count : -1;
        if (*text++ != ',')
            return -1;
    }
}

static cse_status wrong_field(const csv_lists *self, int feature)
{
    return cse_fail(CSE_DATA, "column %s is no list of %" PRId64 " whole numbers",
                    features[feature].column,
                    self->lengths[feature] > 0 ? self->lengths[feature] : 1);
}

static cse_status take_line(csv_lists *self, const table *t)
{
    char *at = self->line;
    int taken = 0, wanted = 0;
    for (int f = 0; f < FEATURES; f++)
        wanted += self->stream_of_feature[f] >= 0;
    for (int column = 0; column < t->columns; column++) {
        const char *field = take_field(&at);
        const int feature = t->feature_of_column[column];
        if (field == NULL)
            return cse_fail(CSE_DATA, "it has %d fields, expected %d", column, t->columns);
        if (feature < 0 || self->stream_of_feature[feature] < 0)
            continue;
        const int64_t length = self->lengths[feature] > 0 ? self->lengths[feature] : 1;
        int32_t *to =
            (int32_t *)self->outputs[self->stream_of_feature[feature]] + self->place * length;
        if (read_numbers(field, to, length) != length)
            return wrong_field(self, feature);
        taken++;
    }
    return taken == wanted ? CSE_OK : cse_fail(CSE_DATA, "a column is missing");
}

static int find(const csv_lists *self, int64_t sample, int64_t *line)
{
    const int file =
        (int)cse_part_of(&self->tables[0].first, sizeof self->tables[0], self->table_count, sample);
    *line = sample - self->tables[file].first + 1;
    return file;
}

static cse_status read_sample(void *argument, int64_t index)
{
    int64_t line;
    csv_lists *self = argument;
    const int file = find(self, index, &line);
    CSE_TRY(read_line(self, file, line));
    cse_status status = take_line(self, &self->tables[file]);
    return status == CSE_OK ? CSE_OK
                            : cse_fail_within(status, "%s: line %" PRId64 ": ",
                                              cse_file_pool_path_view(self->pool, file), line + 1);
}

/* ---- opening ---- */

static cse_status read_header(csv_lists *self, int file)
{
    table *t = &self->tables[file];
    CSE_TRY(read_line(self, file, 0));
    char *at = self->line;
    for (char *name; (name = take_field(&at)) != NULL; t->columns++) {
        if (t->columns == MOST_COLUMNS)
            return cse_fail(CSE_DATA, "%s: it has more than %d columns",
                            cse_file_pool_path_view(self->pool, file), MOST_COLUMNS);
        int feature = 0;
        while (feature < FEATURES && strcmp(features[feature].column, name) != 0)
            feature++;
        t->feature_of_column[t->columns] = feature < FEATURES ? feature : -1;
    }
    return CSE_OK;
}

static cse_status add_file(csv_lists *self, const char *path)
{
    int file;
    CSE_TRY(cse_file_pool_add(self->pool, path, &file));
    CSE_GROW(self->tables, file, self->capacity);
    self->tables[file] = (table){ .first = self->samples };
    self->table_count = file + 1;
    CSE_TRY(cse_line_index_make(&self->tables[file].lines, self->pool, file));
    if (self->tables[file].lines.count < 2)
        return cse_fail(CSE_DATA, "%s: it has no line behind the one that names the columns", path);
    self->samples += self->tables[file].lines.count - 1;
    return read_header(self, file);
}

/* The lists of the first line give the shapes. */
static cse_status describe(cse_input *input)
{
    csv_lists *self = input->self;
    const table *t = &self->tables[0];
    CSE_TRY(read_line(self, 0, 1));
    char *at = self->line;
    for (int column = 0; column < t->columns; column++) {
        const char *field = take_field(&at);
        const int feature = t->feature_of_column[column];
        if (feature < 0 || (features[feature].of_sentences && !self->has_sentences))
            continue;
        if (self->stream_of_feature[feature] >= 0)
            return cse_fail(CSE_DATA, "%s: two columns have the name %s",
                            cse_file_pool_path_view(self->pool, 0), features[feature].column);
        const int64_t count = field != NULL ? read_numbers(field, NULL, MOST_LIST) : -1;
        if (count < 1)
            return cse_fail(CSE_DATA, "%s: line 2: column %s is no list of whole numbers",
                            cse_file_pool_path_view(self->pool, 0), features[feature].column);
        self->lengths[feature] = *field == '[' ? count : 0;
        self->stream_of_feature[feature] = input->stream_count;
        input->streams[input->stream_count++] = (cse_stream){
            .name = features[feature].stream,
            .shape = *field == '[' ? cse_shape_of(count) : cse_scalar_shape,
            .dtype = CSE_INT32,
        };
    }
    for (int f = 0; f < REQUIRED; f++)
        if (self->stream_of_feature[f] < 0)
            return cse_fail(CSE_DATA, "%s: there is no column %s",
                            cse_file_pool_path_view(self->pool, 0), features[f].column);
    return CSE_OK;
}

void cse_csv_lists_close(cse_input *input)
{
    csv_lists *self = input->self;
    cse_file_pool_destroy(&self->pool);
    for (int i = 0; i < self->table_count; i++)
        cse_line_index_clear(&self->tables[i].lines);
    free(self->tables);
    free(self->line);
    free(self);
    input->self = NULL;
}

static cse_status add_folder(csv_lists *self, const char *folder)
{
    cse_file_list list = { 0 };
    cse_status status = cse_file_list_read(&list, folder, ".csv");
    if (status == CSE_OK && list.count == 0)
        status = cse_fail(CSE_NO_INPUT, "%s: no file ends in .csv", folder);
    for (int i = 0; i < list.count && status == CSE_OK; i++)
        status = add_file(self, cse_arena_printf(list.arena, "%s/%s", folder, list.names[i]));
    cse_file_list_clear(&list);
    return status;
}

cse_status cse_csv_lists_open(cse_input *input, const cse_settings *settings)
{
    csv_lists *self = input->self = cse_calloc(1, sizeof *self);
    cse_status status = cse_refuse_unsupported(cse_csv_lists_settings, settings);
    self->pool = cse_file_pool_new(NULL, NULL);
    self->has_sentences = !cse_settings_bool(settings, "disable_nsp");
    for (int f = 0; f < FEATURES; f++)
        self->stream_of_feature[f] = -1;
    cse_bad_records_read(settings, &self->bad);
    for (int i = 0; i < cse_settings_count(settings, "data_dir") && status == CSE_OK; i++)
        status = add_folder(self, cse_settings_text_at(settings, "data_dir", i));
    if (status == CSE_OK)
        status = describe(input);
    if (status != CSE_OK) {
        cse_csv_lists_close(input);
        return status;
    }
    input->sample_count = self->samples;
    snprintf(input->source, sizeof input->source, "%s",
             cse_settings_text_at(settings, "data_dir", 0));
    return CSE_OK;
}

/* A label for each token. */
cse_status cse_csv_lists_describe(cse_input *input, const cse_settings *settings,
                                  const cse_unseen_data *known)
{
    int64_t time;
    const int count = cse_settings_bool(settings, "disable_nsp") ? REQUIRED : SENTENCE_FEATURES;
    CSE_TRY(cse_unseen_length(settings, known, &time));
    for (int f = 0; f < count; f++)
        input->streams[input->stream_count++] = (cse_stream){
            .name = features[f].stream,
            .shape = strcmp(features[f].stream, "next_sentence_label") == 0 ? cse_scalar_shape
                                                                            : cse_shape_of(time),
            .dtype = CSE_INT32,
        };
    return CSE_OK;
}

cse_status cse_csv_lists_read(cse_input *input, const int64_t *indices, int64_t count,
                              void *const outputs[])
{
    csv_lists *self = input->self;
    self->outputs = outputs;
    for (self->place = 0; self->place < count; self->place++)
        CSE_TRY(cse_read_good_record(&self->bad, indices[self->place], self->samples, read_sample,
                                     self));
    return CSE_OK;
}

void cse_csv_lists_locate(const cse_input *input, const cse_element_place *place, char *text,
                          size_t size)
{
    int64_t line;
    const csv_lists *self = input->self;
    const int file = find(self, place->sample, &line);
    snprintf(text, size, "%s: line %" PRId64, cse_file_pool_path_view(self->pool, file), line + 1);
}
