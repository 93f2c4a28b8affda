/* The index names a file for each weight; whether just those are in it is checked. */
#include "engine/formats/weights/folder.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/json.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/format.h"
#include "engine/formats/weights/json_file.h"
#include "engine/formats/weights/new_file.h"
#include "engine/formats/weights/peft/base.h"
#include "engine/formats/weights/sentence_folder.h"
#include "engine/formats/weights/side_files.h"

enum {
    INDEX_LIMIT_BYTES = 100000000,
    CONFIG_LIMIT_BYTES = 1 << 20,
    MOST_FILES = 512,
};

bool cse_weights_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* ---- reading ---- */

static const char *path_in(cse_weights *weights, const char *name)
{
    return cse_arena_printf(weights->arena, "%s/%s", weights->path, name);
}

static bool is_there(cse_weights *weights, const char *name)
{
    struct stat status;
    return stat(path_in(weights, name), &status) == 0;
}

static bool is_plain_name(const char *name)
{
    return name != NULL && *name != '\0' && *name != '.' && strchr(name, '/') == NULL;
}

static cse_status open_one(cse_weights *weights, const cse_weights_format *format, const char *name,
                           int *file)
{
    static const cse_weights_options none = { .format = NULL };
    CSE_TRY(cse_weights_add_file(weights, path_in(weights, name), file));
    return format->open(weights, *file, &none);
}

/* The position of a file that was opened for the index; -1: it was not. */
static int file_named(const cse_weights *weights, const char *name)
{
    for (int i = 0; i < weights->file_count; i++) {
        const char *slash = strrchr(weights->files[i].path, '/');
        if (strcmp(slash != NULL ? slash + 1 : weights->files[i].path, name) == 0)
            return i;
    }
    return -1;
}

/* Opens the files, and sees that each weight is where the index says. */
static cse_status open_indexed(cse_weights *weights, const cse_weights_format *format,
                               const char *index, const json_t *map)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        const char *file = json_string_value(value);
        int position = 0;
        if (!is_plain_name(file))
            return cse_fail(CSE_DATA, "%s: the file of '%s' is no name in this folder", index,
                            name);
        if (file_named(weights, file) >= 0)
            continue;
        if (weights->file_count >= MOST_FILES)
            return cse_fail(CSE_DATA, "%s: names more than %d files", index, MOST_FILES);
        CSE_TRY(open_one(weights, format, file, &position));
    }
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        const int found = cse_weights_find(weights, name);
        if (found < 0 || weights->list[found].file != file_named(weights, json_string_value(value)))
            return cse_fail(CSE_DATA, "%s: '%s' is not in %s", index, name,
                            json_string_value(value));
    }
    if ((size_t)weights->count == json_object_size(map))
        return CSE_OK;
    return cse_fail(CSE_DATA, "%s: names %zu weights, but its files hold %d", index,
                    json_object_size(map), weights->count);
}

static cse_status open_by_index(cse_weights *weights, const cse_weights_format *format,
                                const char *name)
{
    json_t *index = NULL;
    const char *path = path_in(weights, name);
    CSE_TRY(cse_weights_read_json(path, INDEX_LIMIT_BYTES, &index));
    const json_t *map = json_object_get(index, "weight_map");
    cse_status status = json_is_object(map)
                            ? open_indexed(weights, format, path, map)
                            : cse_fail(CSE_DATA, "%s: there is no object weight_map", path);
    json_decref(index);
    return status;
}

/* A folder without config.json holds just weights. */
static cse_status read_facts(cse_weights *weights)
{
    if (!is_there(weights, "config.json"))
        return CSE_OK;
    weights->facts_kind = "hugging_face";
    if (is_there(weights, "generation_config.json"))
        CSE_TRY(cse_weights_read_json(path_in(weights, "generation_config.json"),
                                      CONFIG_LIMIT_BYTES, &weights->generation));
    CSE_TRY(cse_weights_read_json(path_in(weights, "config.json"), CONFIG_LIMIT_BYTES,
                                  &weights->facts));
    return cse_sentence_folder_read(weights->path, weights->facts);
}

cse_status cse_weights_open_folder(cse_weights *weights, const cse_weights_options *options)
{
    static const struct {
        const char *format, *whole, *index;
    } layouts[] = {
        { "safetensors", "model.safetensors", "model.safetensors.index.json" },
        { "pytorch", "pytorch_model.bin", "pytorch_model.bin.index.json" },
    };
    int file = 0;
    CSE_TRY(read_facts(weights));
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const cse_weights_format *format = cse_weights_format_find(layouts[i].format);
        if (format == NULL || (options->format != NULL && strcmp(options->format, "hf") != 0 &&
                               strcmp(options->format, format->name) != 0))
            continue;
        weights->format = format->name;
        if (is_there(weights, layouts[i].index))
            return open_by_index(weights, format, layouts[i].index);
        if (is_there(weights, layouts[i].whole))
            return open_one(weights, format, layouts[i].whole, &file);
    }
    return cse_fail(CSE_NO_INPUT,
                    "%s: this folder holds no weights; accepted: a model.safetensors, "
                    "model.safetensors.index.json, pytorch_model.bin or "
                    "pytorch_model.bin.index.json in it",
                    weights->path);
}

/* ---- writing ---- */

/* Weights of another set, by their positions. */
typedef struct part {
    cse_weights *from;
    const int *order;
} part;

static cse_status read_part(cse_weights *weights, int index, uint64_t first, size_t bytes, void *to)
{
    const part *self = weights->self;
    return cse_weights_read(self->from, self->order[index], first, bytes, to);
}

static cse_status write_file(cse_weights *from, const int *order, int count, const char *path)
{
    const cse_weights_format *format = cse_weights_format_find("safetensors");
    part self = { from, order };
    cse_weights *weights = cse_weights_new(from->path);
    weights->self = &self;
    weights->read = read_part;
    for (int i = 0; i < count; i++) {
        cse_weight weight = from->list[order[i]];
        weight.file = -1;
        weight.packed = NULL;
        (void)cse_weights_add(weights, &weight);
    }
    cse_new_file file;
    cse_status status = cse_new_file_open(&file, path);
    if (status == CSE_OK) {
        status = format->write(
            weights, &(cse_weights_target){ .descriptor = file.descriptor, .path = path });
        status = cse_new_file_close(&file, status);
    }
    cse_weights_close(&weights);
    return status;
}

static cse_status write_text(const char *path, const char *text)
{
    cse_new_file file;
    CSE_TRY(cse_new_file_open(&file, path));
    cse_status status = cse_write_at(file.descriptor, text, strlen(text), 0) == 0
                            ? CSE_OK
                            : cse_fail(CSE_IO, "%s: cannot be written: %s", path, strerror(errno));
    return cse_new_file_close(&file, status);
}

/* Where each file's weights begin in the order: as many as fit, at least one. */
static int cut(const cse_weights *from, const int *order, uint64_t most, int *begins)
{
    int files = 0;
    uint64_t bytes = 0;
    for (int i = 0; i < from->count; i++) {
        const uint64_t more = cse_weight_bytes(&from->list[order[i]]);
        if (i == 0 || (most > 0 && bytes + more > most)) {
            begins[files++] = i;
            bytes = 0;
        }
        bytes += more;
    }
    begins[files] = from->count;
    return files;
}

static cse_status write_index(const cse_weights *from, const int *order, const int *begins,
                              int files, const char *folder)
{
    char path[PATH_MAX + 64];
    cse_text text = { 0 };
    uint64_t bytes = 0;
    for (int i = 0; i < from->count; i++)
        bytes += cse_weight_bytes(&from->list[i]);
    cse_text_add(&text,
                 "{\n  \"metadata\": {\n    \"total_size\": %" PRIu64 "\n  },\n  \"weight_map\": {",
                 bytes);
    for (int f = 0; f < files; f++)
        for (int i = begins[f]; i < begins[f + 1]; i++) {
            cse_text_add(&text, "%s\n    ", i > 0 ? "," : "");
            cse_json_add_string(&text, from->list[order[i]].name);
            cse_text_add(&text, ": \"model-%05d-of-%05d.safetensors\"", f + 1, files);
        }
    cse_text_add(&text, "\n  }\n}\n");
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    cse_status status = write_text(path, text.data);
    cse_text_clear(&text);
    return status;
}

static cse_status write_files(cse_weights *from, const char *folder,
                              const cse_weights_folder_options *options)
{
    char path[PATH_MAX + 64];
    int *order = cse_weights_name_order(from);
    int *begins = cse_calloc((size_t)from->count + 2, sizeof *begins);
    const int files = cut(from, order, options->file_bytes, begins);
    cse_status status = CSE_OK;
    for (int f = 0; f < files && status == CSE_OK; f++) {
        if (files == 1)
            snprintf(path, sizeof path, "%s/%s.safetensors", folder,
                     options->stem != NULL ? options->stem : "model");
        else
            snprintf(path, sizeof path, "%s/model-%05d-of-%05d.safetensors", folder, f + 1, files);
        status = write_file(from, order + begins[f], begins[f + 1] - begins[f], path);
    }
    if (status == CSE_OK && files > 1)
        status = write_index(from, order, begins, files, folder);
    const char *const texts[][2] = {
        { "config.json", options->config },
        { "adapter_config.json", options->adapter_config },
        { CSE_PEFT_BASE_FILE, options->adapter_base },
        { "generation_config.json", options->generation },
        { "tokenizer.json", options->tokenizer },
        { "tokenizer_config.json", options->tokenizer_config },
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == CSE_OK; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, texts[i][0]);
        if (texts[i][1] != NULL)
            status = write_text(path, texts[i][1]);
    }
    if (status == CSE_OK && options->side_files != NULL)
        status = cse_side_files_copy(options->side_files, folder, NULL);
    if (status == CSE_OK && options->sentences != NULL)
        status = cse_sentence_folder_write(folder, options->sentences, options->vector_channels);
    free(order);
    free(begins);
    return status;
}

cse_status cse_weights_save_folder(cse_weights *from, const char *path,
                                   const cse_weights_folder_options *options)
{
    cse_new_folder folder;
    CSE_TRY(cse_new_folder_open(&folder, path));
    return cse_new_folder_close(&folder, write_files(from, folder.temporary, options));
}
