/* gguf: the format of llama.cpp and of the programs around it, version 3: facts about the model,
 * then names, shapes, types and places of weights, then elements, each weight at a multiple of 32
 * bytes (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
 *
 * Shapes stand there in reverse order: the dimension that changes fastest comes first. Weights are
 * read unpacked, or from the packed types of packed/packed.h. A model may be cut into several
 * files, NAME-00001-of-00003.gguf and so on: the first is opened, and the others with it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/format.h"
#include "engine/formats/weights/packed/packed_weight.h"
#include "engine/formats/weights/weight_formats/gguf_facts.h"
#include "engine/formats/weights/weight_formats/gguf_writer.h"

enum {
    VERSION = 3,
    ALIGNMENT = 32,
    MOST_FACTS = 1 << 16,
    MOST_WEIGHTS = 1 << 20,
    MOST_DIMENSIONS = 4,
    MOST_FILES = 999
};

static bool begins(const cse_weights_file *file, const unsigned char *start, size_t bytes)
{
    (void)file;
    return bytes >= 8 && memcmp(start, "GGUF", 4) == 0;
}

/* ---- weights ---- */

static cse_status set_type(const cse_gguf_reading *r, cse_weight *weight, uint32_t type)
{
    const char *name = cse_packed_name_of(type);
    cse_text packed = { 0 };
    weight->element = cse_gguf_element(type);
    weight->packed = cse_packed_by_number(type);
    if (weight->packed != NULL)
        weight->element = CSE_ELEMENT_F32;
    if (weight->element != CSE_ELEMENT_COUNT)
        return CSE_OK;
    for (const cse_packed_type *const *row = cse_packed_types; *row != NULL; row++)
        cse_text_add(&packed, ", %s", (*row)->name);
    cse_status status = cse_fail(
        CSE_DATA,
        "%s: '%s' has the type %s (%" PRIu32 " of GGUF), which is not read; "
        "accepted: F32, F16, BF16, F64, integers%s",
        r->at->path, weight->name, name != NULL ? name : "of an unknown name", type, packed.data);
    cse_text_clear(&packed);
    return status;
}

static cse_status read_weight(cse_gguf_reading *r, cse_weight *weight)
{
    uint64_t rank = 0, size = 0, type = 0;
    *weight = (cse_weight){ .file = r->file, .element = CSE_ELEMENT_COUNT };
    CSE_TRY(cse_gguf_take_text(r, &weight->name, 1024));
    CSE_TRY(cse_gguf_take_number(r, 4, &rank));
    if (rank > MOST_DIMENSIONS)
        return cse_gguf_refuse(r, "a weight has more than 4 dimensions");
    weight->shape.rank = (int)rank;
    for (int i = weight->shape.rank - 1; i >= 0; i--) {
        CSE_TRY(cse_gguf_take_number(r, 8, &size));
        if (size > INT64_MAX)
            return cse_gguf_refuse(r, "a weight has a size that no file can have");
        weight->shape.dims[i] = (int64_t)size;
    }
    CSE_TRY(cse_gguf_take_number(r, 4, &type));
    CSE_TRY(set_type(r, weight, (uint32_t)type));
    return cse_gguf_take_number(r, 8, &weight->offset);
}

static uint64_t stored_bytes(const cse_weight *weight)
{
    const uint64_t bytes = cse_weight_bytes(weight);
    return weight->packed == NULL ? bytes : cse_packed_bytes(weight->packed, bytes / sizeof(float));
}

static int compare_offsets(const void *left, const void *right)
{
    const cse_weight *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (stored_bytes(a) > stored_bytes(b)) - (stored_bytes(a) < stored_bytes(b));
}

static cse_status add_weights(cse_gguf_reading *r, cse_weight *list, uint64_t count)
{
    const uint64_t begin = (r->next + r->alignment - 1) / r->alignment * r->alignment;
    uint64_t end = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (list[i].offset % r->alignment != 0 || list[i].offset > r->at->bytes)
            return cse_fail(CSE_DATA,
                            "%s: '%s' lies beyond the end of the file, or at an odd place",
                            r->at->path, list[i].name);
        list[i].offset += begin;
        CSE_TRY(cse_weights_add(r->weights, &list[i]));
    }
    if (count > 1)
        qsort(list, (size_t)count, sizeof *list, compare_offsets);
    for (uint64_t i = 0; i < count; i++) {
        if (list[i].offset < end)
            return cse_fail(CSE_DATA, "%s: '%s' overlaps '%s'", r->at->path, list[i].name,
                            list[i - 1].name);
        end = list[i].offset + stored_bytes(&list[i]);
    }
    return CSE_OK;
}

static cse_status read_weights(cse_gguf_reading *r, uint64_t weights)
{
    cse_weight *list = NULL;
    uint64_t count = 0, capacity = 0;
    cse_status status = CSE_OK;
    for (; count < weights && status == CSE_OK; count++) {
        CSE_GROW(list, count, capacity);
        status = read_weight(r, &list[count]);
    }
    if (status == CSE_OK)
        status = add_weights(r, list, count);
    free(list);
    return status;
}

/* ---- files ---- */

static cse_status read_head(cse_gguf_reading *r)
{
    const unsigned char *mark = NULL;
    uint64_t version = 0, weights = 0, facts = 0;
    CSE_TRY(cse_gguf_take(r, 4, &mark));
    if (memcmp(mark, "GGUF", 4) != 0)
        return cse_gguf_refuse(r, "it does not begin as GGUF");
    CSE_TRY(cse_gguf_take_number(r, 4, &version));
    CSE_TRY(cse_gguf_take_number(r, 8, &weights));
    CSE_TRY(cse_gguf_take_number(r, 8, &facts));
    if (version != 2 && version != VERSION)
        return cse_gguf_refuse(r, "the version is not accepted; accepted: 2, 3");
    if (weights > MOST_WEIGHTS || facts > MOST_FACTS)
        return cse_gguf_refuse(r, "there are too many weights or facts");
    for (uint64_t i = 0; i < facts; i++)
        CSE_TRY(cse_gguf_read_fact(r));
    const json_t *alignment = json_object_get(r->facts, "general.alignment");
    r->alignment = json_is_integer(alignment) ? (uint64_t)json_integer_value(alignment) : ALIGNMENT;
    if (r->alignment == 0 || r->alignment > 1 << 20)
        return cse_gguf_refuse(r, "general.alignment is not accepted");
    return read_weights(r, weights);
}

static json_int_t number_named(const json_t *facts, const char *name)
{
    return json_integer_value(json_object_get(facts, name));
}

/* Another file of the model; its facts are those of the cut alone. */
static cse_status open_part(cse_weights *weights, const char *path, json_int_t part,
                            json_int_t parts)
{
    cse_gguf_reading r = { .weights = weights };
    CSE_TRY(cse_weights_add_file(weights, path, &r.file));
    r.at = &weights->files[r.file];
    r.facts = json_object();
    r.tokenizer = json_object();
    cse_status status = read_head(&r);
    if (status == CSE_OK && (number_named(r.facts, "split.no") != part ||
                             number_named(r.facts, "split.count") != parts))
        status =
            cse_fail(CSE_DATA,
                     "%s: says that it is part %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
                     ", not part %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT,
                     path, number_named(r.facts, "split.no") + 1,
                     number_named(r.facts, "split.count"), part + 1, parts);
    free(r.head);
    json_decref(r.facts);
    json_decref(r.tokenizer);
    return status;
}

static cse_status open_parts(cse_weights *weights, int file)
{
    char end[48];
    const json_int_t parts = number_named(weights->facts, "split.count");
    const json_int_t wanted = number_named(weights->facts, "split.tensors.count");
    const char *path = weights->files[file].path;
    if (parts <= 1)
        return CSE_OK;
    const int size = snprintf(end, sizeof end, "-00001-of-%05" JSON_INTEGER_FORMAT ".gguf",
                              parts <= MOST_FILES ? parts : 0);
    const size_t length = strlen(path);
    if (parts > MOST_FILES || number_named(weights->facts, "split.no") != 0 ||
        length < (size_t)size || strcmp(path + length - (size_t)size, end) != 0)
        return cse_fail(CSE_DATA,
                        "%s: is one of %" JSON_INTEGER_FORMAT " files of a model; give the first, "
                        "whose name ends with -00001-of-%05" JSON_INTEGER_FORMAT ".gguf",
                        path, parts, parts);
    for (json_int_t part = 1; part < parts; part++) {
        const char *other = cse_arena_printf(weights->arena, "%.*s-%05" JSON_INTEGER_FORMAT "%s",
                                             (int)(length - (size_t)size), path, part + 1, end + 6);
        CSE_TRY(open_part(weights, other, part, parts));
    }
    if (wanted > 0 && wanted != weights->count)
        return cse_fail(
            CSE_DATA,
            "%s: the files of the model hold %d weights, but it says %" JSON_INTEGER_FORMAT, path,
            weights->count, wanted);
    json_object_set_new(weights->facts, "split.count", json_integer(1)); /* all are here */
    return CSE_OK;
}

/* The tokens, the rows of the embedding and the fact that counts both are as many. */
static cse_status check_vocabulary(const cse_weights *weights, const char *architecture)
{
    const int found = cse_weights_find(weights, "token_embd.weight");
    const json_t *tokens = json_object_get(weights->tokenizer, "tokenizer.ggml.tokens");
    if (found < 0 || weights->list[found].shape.rank != 2)
        return CSE_OK;
    const json_int_t rows = weights->list[found].shape.dims[0];
    const char *name = cse_arena_printf(weights->arena, "%s.vocab_size", architecture);
    json_t *fact = json_object_get(weights->facts, name);
    if (fact == NULL)
        json_object_set_new(weights->facts, name, json_integer(rows));
    if (fact != NULL && (!json_is_integer(fact) || json_integer_value(fact) != rows))
        return cse_fail(CSE_DATA,
                        "%s: %s is %" JSON_INTEGER_FORMAT
                        ", but 'token_embd.weight' has %" JSON_INTEGER_FORMAT " rows",
                        weights->path, name, json_integer_value(fact), rows);
    if (tokens != NULL && (json_int_t)json_array_size(tokens) != rows)
        return cse_fail(CSE_DATA,
                        "%s: tokenizer.ggml.tokens has %zu tokens, but 'token_embd.weight' has "
                        "%" JSON_INTEGER_FORMAT " rows",
                        weights->path, json_array_size(tokens), rows);
    return CSE_OK;
}

static cse_status open_gguf(cse_weights *weights, int file, const cse_weights_options *options)
{
    (void)options;
    weights->facts = json_object();
    weights->tokenizer = json_object();
    cse_gguf_reading r = { .weights = weights,
                           .at = &weights->files[file],
                           .file = file,
                           .facts = weights->facts,
                           .tokenizer = weights->tokenizer };
    cse_status status = read_head(&r);
    free(r.head);
    CSE_TRY(status);
    CSE_TRY(open_parts(weights, file));
    const char *architecture =
        json_string_value(json_object_get(weights->facts, "general.architecture"));
    /* Without the facts of a model that is known elsewhere, the names are ours. */
    if (architecture != NULL && strcmp(architecture, CSE_GGUF_ARCHITECTURE_OF_OURS) == 0)
        return CSE_OK;
    weights->facts_kind = "gguf";
    return architecture != NULL ? check_vocabulary(weights, architecture) : CSE_OK;
}

const cse_weights_format cse_weight_format_gguf = {
    .name = "gguf",
    .summary = "weights of llama.cpp and other local programs, packed or not",
    .extensions = ".gguf",
    .begins = begins,
    .open = open_gguf,
    .write = cse_gguf_write,
    .packs = true,
};
