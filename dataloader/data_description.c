/* Nothing of the text is believed: names, types, shapes and counts are checked one by one. */
#include "dataloader/data_description.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/types/dtype.h"

enum { MOST_NAME_BYTES = 256, MOST_CLASSES = 1 << 20 };
static const int64_t most_elements = (int64_t)1 << 40;

/* ---- to text ---- */

/* What is not UTF-8 is made printable: names are for people. */
static json_t *text_json(const char *text)
{
    char printable[4 * MOST_NAME_BYTES];
    json_t *json = json_string(text);
    if (json != NULL)
        return json;
    cse_text_printable(text, printable, sizeof printable);
    return json_string(printable);
}

static json_t *streams_json(const cse_input *input)
{
    json_t *streams = json_array();
    for (int s = 0; s < input->stream_count; s++) {
        const cse_stream *stream = &input->streams[s];
        json_t *shape = json_array();
        for (int d = 0; d < stream->shape.rank; d++)
            json_array_append_new(shape, json_integer(stream->shape.dims[d]));
        json_array_append_new(streams,
                              json_pack("{s:o, s:s, s:o}", "name", text_json(stream->name), "dtype",
                                        cse_dtype_name(stream->dtype), "shape", shape));
    }
    return streams;
}

static json_t *classes_json(const cse_input *input)
{
    json_t *classes = input->class_names != NULL ? json_array() : json_null();
    for (int c = 0; input->class_names != NULL && c < input->class_count; c++)
        json_array_append_new(classes, text_json(input->class_names[c]));
    return classes;
}

void cse_data_description_print(const cse_dataloader *loader, const cse_data_identity *identity,
                                cse_text *json)
{
    const cse_input *input = cse_dataloader_input_view(loader);
    cse_text files = { 0 }, opened = { 0 };
    cse_data_identity_print(identity, &files);
    for (int i = 0; i < identity->count; i++)
        cse_text_add(&opened, "%d", identity->files[i].opened);
    json_t *all =
        json_pack("{s:I, s:o, s:o, s:o, s:s, s:s}", "samples", (json_int_t)input->sample_count,
                  "source", text_json(input->source), "streams", streams_json(input), "classes",
                  classes_json(input), "identity", files.data != NULL ? files.data : "", "opened",
                  opened.data != NULL ? opened.data : "");
    char *text = json_dumps(all, JSON_COMPACT);
    cse_text_add(json, "%s", text);
    free(text);
    json_decref(all);
    cse_text_clear(&files);
    cse_text_clear(&opened);
}

/* ---- from text ---- */

static bool is_name(const char *name)
{
    return name != NULL && *name != '\0' && strlen(name) <= MOST_NAME_BYTES;
}

static bool read_shape(const json_t *list, cse_shape *shape)
{
    int64_t elements = 1;
    if (!json_is_array(list) || json_array_size(list) >= CSE_MAX_RANK)
        return false;
    for (shape->rank = 0; shape->rank < (int)json_array_size(list); shape->rank++) {
        const int64_t size = json_integer_value(json_array_get(list, (size_t)shape->rank));
        if (size < 1 || __builtin_mul_overflow(elements, size, &elements) ||
            elements > most_elements)
            return false;
        shape->dims[shape->rank] = size;
    }
    return true;
}

static bool read_streams(const json_t *list, cse_input *input)
{
    const size_t count = json_array_size(list);
    if (!json_is_array(list) || count < 1 || count > CSE_MAX_STREAMS)
        return false;
    for (size_t s = 0; s < count; s++) {
        const json_t *item = json_array_get(list, s);
        const char *dtype = json_string_value(json_object_get(item, "dtype"));
        cse_stream *stream = &input->streams[s];
        stream->name = json_string_value(json_object_get(item, "name"));
        if (!is_name(stream->name) || dtype == NULL ||
            !read_shape(json_object_get(item, "shape"), &stream->shape))
            return false;
        if (strcmp(dtype, cse_dtype_name(CSE_FLOAT32)) == 0)
            stream->dtype = CSE_FLOAT32;
        else if (strcmp(dtype, cse_dtype_name(CSE_INT32)) == 0)
            stream->dtype = CSE_INT32;
        else
            return false;
    }
    input->stream_count = (int)count;
    return true;
}

/* The names are views into the JSON; their list is to be freed. */
static bool read_classes(const json_t *list, cse_input *input, const char ***names)
{
    const size_t count = json_array_size(list);
    *names = NULL;
    if (json_is_null(list))
        return true;
    if (!json_is_array(list) || count > MOST_CLASSES)
        return false;
    *names = cse_calloc(count + 1, sizeof **names);
    for (size_t c = 0; c < count; c++)
        if (((*names)[c] = json_string_value(json_array_get(list, c))) == NULL)
            return false;
    input->class_names = *names;
    input->class_count = (int)count;
    return true;
}

static bool read_identity(const json_t *all, cse_data_identity *identity)
{
    const char *files = json_string_value(json_object_get(all, "identity"));
    const char *opened = json_string_value(json_object_get(all, "opened"));
    cse_data_identity_clear(identity);
    if (files == NULL || opened == NULL)
        return false;
    if (*files != '\0' && !cse_data_identity_parse(files, identity))
        return false;
    if (strlen(opened) != (size_t)identity->count || strspn(opened, "01") != strlen(opened))
        return false;
    for (int i = 0; i < identity->count; i++)
        identity->files[i].opened = opened[i] == '1';
    return true;
}

static bool read_input(const json_t *all, cse_input *input, const char ***names)
{
    const char *source = json_string_value(json_object_get(all, "source"));
    input->sample_count = json_integer_value(json_object_get(all, "samples"));
    if (input->sample_count < 1 || source == NULL)
        return false;
    snprintf(input->source, sizeof input->source, "%s", source);
    return read_streams(json_object_get(all, "streams"), input) &&
           read_classes(json_object_get(all, "classes"), input, names);
}

cse_status cse_data_description_open(const char *json, const cse_settings *settings,
                                     uint64_t default_seed, cse_data_identity *identity,
                                     cse_dataloader **loader)
{
    cse_input known = { .descriptor = NULL };
    const char **names = NULL;
    json_t *all = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
    cse_status status = CSE_OK;
    *loader = NULL;
    if (!json_is_object(all) || !read_input(all, &known, &names) || !read_identity(all, identity))
        status = cse_fail(CSE_DATA, "what another host says of its data is no description of a "
                                    "data loader: run the same csengine on all hosts");
    if (status == CSE_OK)
        status = cse_dataloader_of_other(settings, default_seed, &known, loader);
    free(names);
    json_decref(all);
    return status;
}
