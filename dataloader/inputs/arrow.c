/* Samples from tables of Apache Arrow, as the library datasets of Hugging Face saves them: a row is
 * a sample, and each column of numbers a stream; or a column of texts, which a tokenizer turns into
 * tokens. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/bad_records.h"
#include "dataloader/files/part_of.h"
#include "dataloader/formats/arrow_file.h"
#include "dataloader/formats/arrow_folder.h"
#include "dataloader/formats/parquet_file.h"
#include "dataloader/inputs/text_tokens.h"
#include "engine/base/config/settings.h"
#include "engine/base/types/shape.h"

enum { MOST_TEXT = 1 << 28 };

typedef struct arrow_column {
    const char *stream, *column;
    cse_dtype dtype;
    bool is_list;
    int64_t elements; /* of a sample */
    int32_t filling;  /* of a list that is shorter */
} arrow_column;

typedef struct table {
    cse_arrow_file file;
    int64_t first;           /* its first row among all */
    int at[CSE_MAX_STREAMS]; /* the position of each column */
} table;

typedef struct arrow {
    cse_arena *arena;
    cse_file_pool *pool;
    table *tables; /* by the pool's numbers */
    int count, capacity;
    int64_t samples;
    const char **visible; /* the columns that set_format left; NULL: all */
    int visible_count;
    arrow_column columns[CSE_MAX_STREAMS];
    int column_count;
    int64_t time;         /* sequence_length; 0: as the lists are */
    int next_token, mask; /* the column of input_ids, of attention_mask; -1: labels are as they
                                stand, there is none */
    cse_text_tokens texts;
    char *text;
    cse_bad_records bad;
    /* of the sample that is being read */
    void *const *outputs;
    int64_t place;
} arrow;

static const cse_setting settings_table[] = {
    { .name = "path",
      .type = CSE_SETTING_PATHS,
      .doc = "files, or folders of *.arrow files, as save_to_disk of datasets writes them, or of "
             "*.parquet files, which need pyarrow or duckdb in Python" },
    { .name = "columns",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "{stream: column}, as in {images: pixels, labels: label}; null: all columns of "
             "numbers that set_format left visible, by their names, and label as labels" },
    { .name = "sequence_length",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 1 << 24,
      .doc = "lists, and texts, are cut to it or filled up; null: all lists of a column are as "
             "long as the first" },
    { .name = "pad_id",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .min = INT32_MIN,
      .max = INT32_MAX,
      .doc = "in filled places, but for labels (-100) and attention_mask (0)" },
    { .name = "next_token",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "labels are those of a language model: the token of input_ids that follows, where "
             "attention_mask, if there is one, is not 0; transformers has them unshifted" },
    { .name = "tokenizer",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc =
          "a tokenizer.json, or a folder with it or with vocab.json and merges.txt, for a column "
          "of texts; null: columns of numbers are read" },
    { .name = "text",
      .type = CSE_SETTING_TEXT,
      .default_value = "text",
      .doc = "with a tokenizer: the column of texts" },
    CSE_END_OF_TEXT_SETTING,
    CSE_BAD_RECORD_SETTING,
    { 0 },
};

/* ---- files ---- */

static cse_status add_file(arrow *self, const char *path)
{
    int file;
    CSE_TRY(cse_is_parquet(path) ? cse_parquet_add(self->pool, path, &file)
                                 : cse_file_pool_add(self->pool, path, &file));
    CSE_GROW(self->tables, file, self->capacity);
    self->tables[file] = (table){ .first = self->samples };
    self->count = file + 1;
    CSE_TRY(cse_arrow_open(self->pool, file, &self->tables[file].file));
    self->samples += self->tables[file].file.rows;
    return CSE_OK;
}

static cse_status add_path(arrow *self, const char *path)
{
    cse_arrow_folder folder;
    CSE_TRY(cse_arrow_folder_read(self->arena, path, &folder));
    if (self->visible == NULL) {
        self->visible = folder.columns;
        self->visible_count = folder.column_count;
    }
    for (int i = 0; i < folder.count; i++)
        CSE_TRY(add_file(self, folder.paths[i]));
    return CSE_OK;
}

/* ---- columns ---- */

static cse_status no_column(const arrow *self, const char *name)
{
    const cse_arrow_file *file = &self->tables[0].file;
    const char *names = "";
    for (int i = 0; i < file->column_count; i++)
        names = cse_arena_printf(self->arena, "%s%s%.100s", names, i > 0 ? ", " : "",
                                 file->columns[i].name);
    return cse_fail(CSE_DATA, "%s: there is no column %s that is read; its columns are: %.1000s",
                    cse_file_pool_path_view(self->pool, 0), name, names);
}

static cse_status add_column(arrow *self, const char *stream, const char *name)
{
    const cse_arrow_file *file = &self->tables[0].file;
    const int at = cse_arrow_find(file, name);
    if (at < 0 ||
        (file->columns[at].kind != CSE_ARROW_NUMBERS && file->columns[at].kind != CSE_ARROW_LIST))
        return no_column(self, name);
    if (self->column_count == CSE_MAX_STREAMS)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s has more than %d columns of numbers: name "
                        "those that are used with columns",
                        cse_file_pool_path_view(self->pool, 0), CSE_MAX_STREAMS);
    self->columns[self->column_count++] =
        (arrow_column){ .stream = cse_arena_string(self->arena, stream),
                        .column = cse_arena_string(self->arena, name),
                        .dtype =
                            file->columns[at].type == CSE_ARROW_FLOAT ? CSE_FLOAT32 : CSE_INT32,
                        .is_list = file->columns[at].kind == CSE_ARROW_LIST };
    return CSE_OK;
}

static cse_status add_named_columns(arrow *self, const cse_settings *settings)
{
    cse_yaml_node *map = cse_yaml_find(settings->node, "columns");
    map->read = true;
    for (int i = 0; i < map->count; i++) {
        if (map->children[i]->kind != CSE_YAML_SCALAR || map->children[i]->text == NULL)
            return cse_fail(CSE_CONFIG, "data loader: %s: columns: %s: accepted is a column's name",
                            cse_settings_origin(settings, "columns"), map->keys[i].text);
        map->children[i]->read = true;
        CSE_TRY(add_column(self, map->keys[i].text, map->children[i]->text));
    }
    return CSE_OK;
}

static bool is_visible(const arrow *self, const char *name)
{
    for (int i = 0; i < self->visible_count; i++)
        if (strcmp(self->visible[i], name) == 0)
            return true;
    return self->visible == NULL;
}

static cse_status add_all_columns(arrow *self)
{
    const cse_arrow_file *file = &self->tables[0].file;
    const bool has_labels = cse_arrow_find(file, "labels") >= 0;
    for (int i = 0; i < file->column_count; i++) {
        const cse_arrow_column *column = &file->columns[i];
        const bool is_label = strcmp(column->name, "label") == 0 && !has_labels;
        if ((column->kind == CSE_ARROW_NUMBERS || column->kind == CSE_ARROW_LIST) &&
            is_visible(self, column->name))
            CSE_TRY(add_column(self, is_label ? "labels" : column->name, column->name));
    }
    return self->column_count > 0 ? CSE_OK : no_column(self, "of numbers");
}

static int find_stream(const arrow *self, const char *stream)
{
    for (int i = 0; i < self->column_count; i++)
        if (strcmp(self->columns[i].stream, stream) == 0)
            return i;
    return -1;
}

/* Labels made of input_ids take the place of those of a column. */
static cse_status add_next_token(arrow *self, const cse_settings *settings)
{
    const int ids = find_stream(self, "input_ids"), labels = find_stream(self, "labels");
    if (ids < 0 || (labels < 0 && self->column_count == CSE_MAX_STREAMS))
        return cse_fail(
            CSE_CONFIG,
            "data loader: %s: next_token needs a stream input_ids, and place for labels",
            cse_settings_origin(settings, "next_token"));
    arrow_column *made = &self->columns[labels < 0 ? self->column_count++ : labels];
    *made = self->columns[ids];
    made->stream = "labels";
    self->next_token = labels < 0 ? self->column_count - 1 : labels;
    self->mask = find_stream(self, "attention_mask");
    return CSE_OK;
}

/* The same columns in all files, of one shape. */
static cse_status find_columns(arrow *self, int number)
{
    table *t = &self->tables[number];
    const char *path = cse_file_pool_path_view(self->pool, number);
    for (int i = 0; i < self->column_count; i++) {
        const arrow_column *column = &self->columns[i];
        t->at[i] = cse_arrow_find(&t->file, column->column);
        if (t->at[i] < 0)
            return cse_fail(CSE_DATA, "%s: it has no column %s, as the first file has", path,
                            column->column);
        const cse_arrow_column *here = &t->file.columns[t->at[i]];
        const cse_arrow_column *there = &self->tables[0].file.columns[self->tables[0].at[i]];
        if (here->kind != there->kind || !cse_shape_equal(here->shape, there->shape) ||
            (here->type == CSE_ARROW_FLOAT) != (there->type == CSE_ARROW_FLOAT))
            return cse_fail(CSE_DATA, "%s: column %s is of another type than in the first file",
                            path, column->column);
    }
    return CSE_OK;
}

static int32_t filling_of(const char *stream, int32_t pad_id)
{
    return strcmp(stream, "labels") == 0           ? CSE_IGNORED_LABEL
           : strcmp(stream, "attention_mask") == 0 ? 0
                                                   : pad_id;
}

static cse_status describe(cse_input *input, int32_t pad_id)
{
    arrow *self = input->self;
    int first = 0;
    while (self->tables[first].file.rows == 0)
        first++;
    const table *t = &self->tables[first];
    for (int i = 0; i < self->column_count; i++) {
        arrow_column *column = &self->columns[i];
        cse_shape shape = t->file.columns[t->at[i]].shape;
        if (column->is_list) {
            shape = cse_shape_of(self->time);
            if (self->time == 0)
                CSE_TRY(
                    cse_arrow_length(&t->file, (cse_arrow_cell){ t->at[i], 0 }, &shape.dims[0]));
            if (shape.dims[0] < 1)
                return cse_fail(CSE_DATA,
                                "%s: row 0, column %s: the list is empty; set "
                                "sequence_length",
                                cse_file_pool_path_view(self->pool, first), column->column);
        }
        column->elements = cse_shape_elements(shape);
        column->filling = filling_of(column->stream, pad_id);
        input->streams[input->stream_count++] =
            (cse_stream){ .name = column->stream, .shape = shape, .dtype = column->dtype };
    }
    return CSE_OK;
}

/* ---- a row ---- */

static int find(const arrow *self, int64_t sample, int64_t *row)
{
    const int file =
        (int)cse_part_of(&self->tables[0].first, sizeof self->tables[0], self->count, sample);
    *row = sample - self->tables[file].first;
    return file;
}

static cse_status take_column(arrow *self, const table *t, int64_t row, int i)
{
    const arrow_column *column = &self->columns[i];
    int32_t *to = (int32_t *)self->outputs[i] + self->place * column->elements;
    const cse_arrow_cell cell = { t->at[i], row };
    int64_t length;
    CSE_TRY(cse_arrow_length(&t->file, cell, &length));
    if (length != column->elements && self->time == 0)
        return cse_fail(CSE_DATA,
                        "column %s: the list has %" PRId64
                        " numbers, that of the first row %" PRId64 "; set sequence_length",
                        column->column, length, column->elements);
    const int64_t taken = length < column->elements ? length : column->elements;
    CSE_TRY(cse_arrow_read(&t->file, cell, taken, column->dtype, to));
    for (int64_t k = taken; k < column->elements; k++) {
        const float filling = (float)column->filling;
        memcpy(to + k,
               column->dtype == CSE_FLOAT32 ? (const void *)&filling
                                            : (const void *)&column->filling,
               4);
    }
    if (i == self->next_token) {
        memmove(to, to + 1, (size_t)(column->elements - 1) * sizeof *to);
        for (int64_t k = taken > 0 ? taken - 1 : 0; k < column->elements; k++)
            to[k] = CSE_IGNORED_LABEL;
    }
    return CSE_OK;
}

/* No label where the token that follows is padding. */
static void mask_labels(const arrow *self)
{
    const int64_t time = self->columns[self->next_token].elements;
    int32_t *labels = (int32_t *)self->outputs[self->next_token] + self->place * time;
    if (self->mask < 0 || self->columns[self->mask].elements != time ||
        self->columns[self->mask].dtype != CSE_INT32)
        return;
    const int32_t *mask = (const int32_t *)self->outputs[self->mask] + self->place * time;
    for (int64_t t = 0; t + 1 < time; t++)
        if (mask[t + 1] == 0)
            labels[t] = CSE_IGNORED_LABEL;
}

static cse_status take_text(arrow *self, const table *t, int64_t row)
{
    const cse_arrow_cell cell = { t->at[0], row };
    int64_t bytes;
    CSE_TRY(cse_arrow_length(&t->file, cell, &bytes));
    if (bytes > MOST_TEXT)
        return cse_fail(CSE_DATA, "the text has more than 256 MiB");
    self->text = cse_realloc(self->text, (size_t)bytes + 1);
    CSE_TRY(cse_arrow_read_text(&t->file, cell, bytes, self->text));
    self->texts.ids.count = 0;
    CSE_TRY(cse_text_tokens_add(&self->texts, self->text, (size_t)bytes));
    cse_text_tokens_put(&self->texts, 0, self->outputs, self->place);
    return CSE_OK;
}

static cse_status read_row(void *argument, int64_t index)
{
    int64_t row;
    int descriptor;
    arrow *self = argument;
    const int file = find(self, index, &row);
    const table *t = &self->tables[file];
    cse_status status = cse_file_pool_descriptor(self->pool, file, &descriptor);
    if (status != CSE_OK)
        return status;
    if (self->texts.tokenizer != NULL)
        status = take_text(self, t, row);
    for (int i = 0; i < self->column_count && status == CSE_OK && self->texts.tokenizer == NULL;
         i++)
        status = take_column(self, t, row, i);
    if (status == CSE_OK && self->next_token >= 0)
        mask_labels(self);
    return status == CSE_OK ? CSE_OK
                            : cse_fail_within(status, "%s: row %" PRId64 ": ",
                                              cse_file_pool_path_view(self->pool, file), row);
}

/* ---- the input function ---- */

static void arrow_close(cse_input *input)
{
    arrow *self = input->self;
    for (int i = 0; i < self->count; i++)
        cse_arrow_clear(&self->tables[i].file);
    cse_text_tokens_clear(&self->texts);
    cse_file_pool_destroy(&self->pool);
    cse_arena_destroy(&self->arena);
    free(self->tables);
    free(self->text);
    free(self);
    input->self = NULL;
}

/* Of all files; only the text's column is used. */
static cse_status open_texts(arrow *self, const cse_settings *settings)
{
    const char *name = cse_settings_text(settings, "text");
    if (!cse_settings_has(settings, "sequence_length"))
        return cse_fail(CSE_CONFIG, "data loader: %s: a tokenizer needs sequence_length",
                        cse_settings_origin(settings, "tokenizer"));
    CSE_TRY(cse_text_tokens_open(&self->texts, settings));
    for (int i = 0; i < self->count; i++) {
        table *t = &self->tables[i];
        t->at[0] = cse_arrow_find(&t->file, name);
        if (t->at[0] < 0 || t->file.columns[t->at[0]].kind != CSE_ARROW_TEXT)
            return cse_fail(CSE_DATA, "%s: there is no column of texts \"%s\"",
                            cse_file_pool_path_view(self->pool, i), name);
    }
    return CSE_OK;
}

static cse_status open_columns(arrow *self, const cse_settings *settings)
{
    const cse_yaml_node *map = cse_yaml_find(settings->node, "columns");
    if (cse_settings_has(settings, "columns") && map != NULL && map->kind != CSE_YAML_MAPPING)
        return cse_fail(CSE_CONFIG, "data loader: %s: columns: accepted is {stream: column}",
                        cse_settings_origin(settings, "columns"));
    CSE_TRY(cse_settings_has(settings, "columns") ? add_named_columns(self, settings)
                                                  : add_all_columns(self));
    if (cse_settings_bool(settings, "next_token"))
        CSE_TRY(add_next_token(self, settings));
    for (int i = 0; i < self->count; i++)
        CSE_TRY(find_columns(self, i));
    return CSE_OK;
}

static cse_status open_all(cse_input *input, const cse_settings *settings)
{
    arrow *self = input->self;
    for (int i = 0; i < cse_settings_count(settings, "path"); i++)
        CSE_TRY(add_path(self, cse_settings_text_at(settings, "path", i)));
    if (self->samples == 0)
        return cse_fail(CSE_DATA, "%s: it has no row", cse_settings_text_at(settings, "path", 0));
    if (cse_settings_has(settings, "tokenizer")) {
        CSE_TRY(open_texts(self, settings));
        cse_describe_tokens(input, self->texts.time, true);
        return CSE_OK;
    }
    CSE_TRY(open_columns(self, settings));
    return describe(input, (int32_t)cse_settings_integer(settings, "pad_id"));
}

static cse_status arrow_open(cse_input *input, const cse_settings *settings)
{
    arrow *self = input->self = cse_calloc(1, sizeof *self);
    self->arena = cse_arena_new();
    self->pool = cse_file_pool_new(NULL, NULL);
    self->next_token = self->mask = -1;
    self->time = cse_settings_has(settings, "sequence_length")
                     ? cse_settings_integer(settings, "sequence_length")
                     : 0;
    cse_bad_records_read(settings, &self->bad);
    cse_status status = open_all(input, settings);
    if (status != CSE_OK) {
        arrow_close(input);
        return status;
    }
    input->sample_count = self->samples;
    snprintf(input->source, sizeof input->source, "%s", cse_file_pool_path_view(self->pool, 0));
    return CSE_OK;
}

static void expect(const arrow *self, int64_t sample)
{
    int64_t row;
    const table *t = &self->tables[find(self, sample, &row)];
    for (int i = 0; i < self->column_count; i++)
        cse_arrow_expect(&t->file, (cse_arrow_cell){ t->at[i], row });
}

static cse_status arrow_read(cse_input *input, const int64_t *indices, int64_t count,
                             void *const outputs[])
{
    arrow *self = input->self;
    self->outputs = outputs;
    cse_file_pool_look_once(self->pool);
    for (self->place = 0; self->place < count; self->place++) {
        if (self->place + 1 < count && self->texts.tokenizer == NULL)
            expect(self, indices[self->place + 1]);
        CSE_TRY(
            cse_read_good_record(&self->bad, indices[self->place], self->samples, read_row, self));
    }
    return CSE_OK;
}

static void arrow_locate(const cse_input *input, const cse_element_place *place, char *text,
                         size_t size)
{
    int64_t row;
    const arrow *self = input->self;
    const int file = find(self, place->sample, &row);
    const int used =
        snprintf(text, size, "%s: row %" PRId64, cse_file_pool_path_view(self->pool, file), row);
    if (!place->whole && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ", element %" PRId64, place->element);
}

const cse_input_descriptor cse_input_arrow = {
    .name = "arrow",
    .summary = "tables of Apache Arrow, as the library datasets of Hugging Face saves them",
    .settings = settings_table,
    .open = arrow_open,
    .read = arrow_read,
    .locate = arrow_locate,
    .close = arrow_close,
};
