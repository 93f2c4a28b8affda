/* gguf: the format of llama.cpp and of the programs around it, version 3: facts about the model,
 * then names, shapes, types and places of weights, then elements, each weight at a multiple of 32
 * bytes (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
 *
 * Shapes stand there in reverse order: the dimension that changes fastest comes first. Of the types
 * of elements the unpacked ones are read and written; those of packed weights are refused. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/format.h"

enum {
    VERSION = 3,
    ALIGNMENT = 32,
    MOST_HEAD_BYTES = 1 << 28, /* of all before the elements: a tokenizer is in it */
    MOST_FACTS = 1 << 16,
    MOST_WEIGHTS = 1 << 20,
    MOST_DIMENSIONS = 4,
    MOST_NESTING = 4
};

/* Types of facts. */
enum { U8, I8, U16, I16, U32, I32, FLOAT32, BOOLEAN, TEXT, LIST, U64, I64, FLOAT64, FACT_TYPES };
static const size_t fact_bytes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

static const struct {
    uint32_t type;
    cse_element element;
} types[] = {
    { 0, CSE_ELEMENT_F32 },  { 1, CSE_ELEMENT_F16 },   { 24, CSE_ELEMENT_I8 },
    { 25, CSE_ELEMENT_I16 }, { 26, CSE_ELEMENT_I32 },  { 27, CSE_ELEMENT_I64 },
    { 28, CSE_ELEMENT_F64 }, { 30, CSE_ELEMENT_BF16 },
};
enum { TYPES = sizeof types / sizeof types[0] };

static bool begins(const cse_weights_file *file, const unsigned char *start, size_t bytes)
{
    (void)file;
    return bytes >= 8 && memcmp(start, "GGUF", 4) == 0;
}

/* ---- reading ---- */

typedef struct reading {
    cse_weights *weights;
    const cse_weights_file *at;
    int file;
    unsigned char *head; /* the beginning of the file, as much as was needed so far */
    uint64_t size, next, alignment;
} reading;

static cse_status refuse(const reading *r, const char *what)
{
    return cse_fail(CSE_DATA, "%s: byte %" PRIu64 ": %s", r->at->path, r->next, what);
}

/* Takes bytes of the head, which is read in growing parts. */
static cse_status take(reading *r, uint64_t bytes, const unsigned char **at)
{
    if (bytes > r->at->bytes - r->next || r->next + bytes > MOST_HEAD_BYTES)
        return refuse(r, "the head goes beyond the end of the file, or has more than 256 MiB");
    if (r->next + bytes > r->size) {
        uint64_t more = 2 * (r->next + bytes) + 65536;
        more = more < r->at->bytes ? more : r->at->bytes;
        r->head = cse_realloc(r->head, more);
        if (cse_read_at(r->at->descriptor, r->head + r->size, more - r->size, r->size) !=
            (int64_t)(more - r->size))
            return refuse(r, "cannot be read");
        r->size = more;
    }
    *at = r->head + r->next;
    r->next += bytes;
    return CSE_OK;
}

static cse_status take_number(reading *r, int bytes, uint64_t *number)
{
    const unsigned char *at = NULL;
    CSE_TRY(take(r, (uint64_t)bytes, &at));
    *number = 0;
    for (int i = bytes; i > 0; i--)
        *number = *number << 8 | at[i - 1];
    return CSE_OK;
}

/* A copy of it in the arena. */
static cse_status take_text(reading *r, const char **text, uint64_t most)
{
    uint64_t length = 0;
    const unsigned char *at = NULL;
    CSE_TRY(take_number(r, 8, &length));
    if (length > most)
        return refuse(r, "a text is too long");
    CSE_TRY(take(r, length, &at));
    if (memchr(at, 0, length) != NULL)
        return refuse(r, "a text has a zero byte");
    *text = cse_arena_printf(r->weights->arena, "%.*s", (int)length, (const char *)at);
    return CSE_OK;
}

/* A list, as the tokens of a tokenizer are, is passed over. */
static cse_status skip_list(reading *r, int depth)
{
    uint64_t type = 0, count = 0, length = 0;
    const unsigned char *at = NULL;
    CSE_TRY(take_number(r, 4, &type));
    CSE_TRY(take_number(r, 8, &count));
    if (type >= FACT_TYPES || depth > MOST_NESTING)
        return refuse(r, "a list has a type that is not known");
    if (count > r->at->bytes)
        return refuse(r, "a list has more entries than the file has bytes");
    if (fact_bytes[type] > 0)
        return take(r, count * fact_bytes[type], &at);
    for (uint64_t i = 0; i < count; i++) {
        if (type == LIST) {
            CSE_TRY(skip_list(r, depth + 1));
            continue;
        }
        CSE_TRY(take_number(r, 8, &length));
        CSE_TRY(take(r, length, &at));
    }
    return CSE_OK;
}

static int64_t sign_extended(uint64_t number, size_t bytes)
{
    const int shift = 64 - 8 * (int)bytes;
    return (int64_t)(number << shift) >> shift;
}

static cse_status read_scalar(reading *r, const char *name, uint64_t type)
{
    uint64_t number = 0;
    float single;
    double wide;
    CSE_TRY(take_number(r, (int)fact_bytes[type], &number));
    json_t *value = NULL;
    if (type == FLOAT32) {
        const uint32_t bits = (uint32_t)number;
        memcpy(&single, &bits, sizeof single);
        char text[32];
        snprintf(text, sizeof text, "%.7g", (double)single); /* as it was written in decimals */
        value = json_real(strtod(text, NULL));
    } else if (type == FLOAT64) {
        memcpy(&wide, &number, sizeof wide);
        value = json_real(wide);
    } else if (type == BOOLEAN) {
        value = json_boolean(number != 0);
    } else {
        const bool is_signed = type == I8 || type == I16 || type == I32 || type == I64;
        value =
            json_integer(is_signed ? sign_extended(number, fact_bytes[type]) : (json_int_t)number);
    }
    /* No JSON number is infinite, but the name must be known. */
    json_object_set_new(r->weights->facts, name,
                        value != NULL ? value : json_string("not a finite number"));
    return CSE_OK;
}

static cse_status read_fact(reading *r)
{
    const char *name = NULL, *text = NULL;
    uint64_t type = 0;
    CSE_TRY(take_text(r, &name, 65535));
    CSE_TRY(take_number(r, 4, &type));
    if (type >= FACT_TYPES)
        return refuse(r, "a fact has a type that is not known");
    if (json_object_get(r->weights->facts, name) != NULL)
        return refuse(r, "a fact is there twice");
    if (type == LIST) { /* of which there is known that it is there */
        json_object_set_new(r->weights->facts, name, json_pack("[s]", "list"));
        return skip_list(r, 0);
    }
    if (type != TEXT)
        return read_scalar(r, name, type);
    CSE_TRY(take_text(r, &text, 1 << 20));
    json_t *value = json_string(text);
    json_object_set_new(r->weights->facts, name,
                        value != NULL ? value : json_string("text that is not UTF-8"));
    return CSE_OK;
}

static cse_status read_weight(reading *r, cse_weight *weight)
{
    uint64_t rank = 0, size = 0, type = 0;
    *weight = (cse_weight){ .file = r->file, .element = CSE_ELEMENT_COUNT };
    CSE_TRY(take_text(r, &weight->name, 1024));
    CSE_TRY(take_number(r, 4, &rank));
    if (rank > MOST_DIMENSIONS)
        return refuse(r, "a weight has more than 4 dimensions");
    weight->shape.rank = (int)rank;
    for (int i = weight->shape.rank - 1; i >= 0; i--) {
        CSE_TRY(take_number(r, 8, &size));
        if (size > INT64_MAX)
            return refuse(r, "a weight has a size that no file can have");
        weight->shape.dims[i] = (int64_t)size;
    }
    CSE_TRY(take_number(r, 4, &type));
    for (int i = 0; i < TYPES; i++)
        if (types[i].type == type)
            weight->element = types[i].element;
    if (weight->element == CSE_ELEMENT_COUNT)
        return cse_fail(CSE_DATA,
                        "%s: '%s' is packed (type %" PRIu64 " of GGUF); accepted: F32, F16, BF16, "
                        "F64 and integers, as converters write them before they pack",
                        r->at->path, weight->name, type);
    return take_number(r, 8, &weight->offset);
}

static cse_status add_weights(reading *r, const cse_weight *list, uint64_t count)
{
    const uint64_t begin = (r->next + r->alignment - 1) / r->alignment * r->alignment;
    for (uint64_t i = 0; i < count; i++) {
        cse_weight weight = list[i];
        if (weight.offset % r->alignment != 0 || weight.offset > r->at->bytes)
            return cse_fail(CSE_DATA,
                            "%s: '%s' lies beyond the end of the file, or at an odd place",
                            r->at->path, weight.name);
        weight.offset += begin;
        CSE_TRY(cse_weights_add(r->weights, &weight));
    }
    return CSE_OK;
}

static cse_status read_head(reading *r)
{
    const unsigned char *mark = NULL;
    uint64_t version = 0, weights = 0, facts = 0;
    CSE_TRY(take(r, 4, &mark));
    CSE_TRY(take_number(r, 4, &version));
    CSE_TRY(take_number(r, 8, &weights));
    CSE_TRY(take_number(r, 8, &facts));
    if (version != 2 && version != VERSION)
        return refuse(r, "the version is not accepted; accepted: 2, 3");
    if (weights > MOST_WEIGHTS || facts > MOST_FACTS)
        return refuse(r, "there are too many weights or facts");
    r->weights->facts = json_object();
    for (uint64_t i = 0; i < facts; i++)
        CSE_TRY(read_fact(r));
    const json_t *alignment = json_object_get(r->weights->facts, "general.alignment");
    r->alignment = json_is_integer(alignment) ? (uint64_t)json_integer_value(alignment) : ALIGNMENT;
    if (r->alignment == 0 || r->alignment > 1 << 20)
        return refuse(r, "general.alignment is not accepted");
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

/* Without the facts of a model that is known elsewhere, the names are ours. */
static const char architecture_of_ours[] = "csengine";

static cse_status open_gguf(cse_weights *weights, int file, const cse_weights_options *options)
{
    reading r = { .weights = weights, .at = &weights->files[file], .file = file };
    (void)options;
    cse_status status = read_head(&r);
    free(r.head);
    const char *architecture =
        json_string_value(json_object_get(weights->facts, "general.architecture"));
    if (architecture == NULL || strcmp(architecture, architecture_of_ours) != 0)
        weights->facts_kind = "gguf";
    return status;
}

/* ---- writing ---- */

static void put_number(cse_text *out, uint64_t value, int bytes)
{
    char number[8];
    for (int i = 0; i < bytes; i++)
        number[i] = (char)(value >> (8 * i));
    cse_text_add_bytes(out, number, (size_t)bytes);
}

static void put_text(cse_text *out, const char *text)
{
    put_number(out, strlen(text), 8);
    cse_text_add_bytes(out, text, strlen(text));
}

/* Whether readers want a number as float32, although it may be a whole one. */
static bool is_fraction(const char *name)
{
    return strstr(name, "epsilon") != NULL || strstr(name, "freq_base") != NULL ||
           strstr(name, "scale") != NULL;
}

/* A fact of a kind that facts of models have: text, uint32, float32 or bool. */
static bool put_fact(cse_text *out, const char *name, const json_t *value)
{
    const float single = (float)json_number_value(value);
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    const int type = json_is_string(value)                        ? TEXT
                     : json_is_number(value) && is_fraction(name) ? FLOAT32
                     : json_is_integer(value)                     ? U32
                     : json_is_real(value)                        ? FLOAT32
                     : json_is_boolean(value)                     ? BOOLEAN
                                                                  : FACT_TYPES;
    if (type == FACT_TYPES)
        return false;
    put_text(out, name);
    put_number(out, (uint64_t)type, 4);
    if (type == TEXT)
        put_text(out, json_string_value(value));
    else if (type == BOOLEAN)
        put_number(out, json_is_true(value), 1);
    else
        put_number(out, type == U32 ? (uint64_t)json_integer_value(value) : bits, 4);
    return true;
}

/* In the order of their names, but for the architecture, which readers want first. */
static uint64_t put_facts(cse_text *out, const json_t *facts)
{
    static const char first[] = "general.architecture";
    json_t *own = facts == NULL ? json_pack("{s:s}", first, architecture_of_ours) : NULL;
    const json_t *all = facts != NULL ? facts : own;
    uint64_t count = put_fact(out, first, json_object_get(all, first));
    const char **names = cse_calloc(json_object_size(all) + 1, sizeof *names), *name;
    size_t size = 0;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)all, name, value) names[size++] = name;
    for (size_t i = 0; i < size; i++)
        for (size_t k = i + 1; k < size; k++)
            if (strcmp(names[i], names[k]) > 0) {
                const char *other = names[i];
                names[i] = names[k];
                names[k] = other;
            }
    for (size_t i = 0; i < size; i++)
        if (strcmp(names[i], first) != 0)
            count += put_fact(out, names[i], json_object_get(all, names[i]));
    free(names);
    json_decref(own);
    return count;
}

static uint64_t aligned(uint64_t at)
{
    return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_weights(cse_text *out, const cse_weights *from, const int *order)
{
    uint64_t at = 0;
    for (int i = 0; i < from->count; i++) {
        const cse_weight *weight = &from->list[order[i]];
        put_text(out, weight->name);
        put_number(out, (uint64_t)weight->shape.rank, 4);
        for (int k = weight->shape.rank - 1; k >= 0; k--)
            put_number(out, (uint64_t)weight->shape.dims[k], 8);
        for (int t = 0; t < TYPES; t++)
            if (types[t].element == weight->element)
                put_number(out, types[t].type, 4);
        put_number(out, at, 8);
        at = aligned(at + cse_weight_bytes(weight));
    }
}

static cse_status write_elements(cse_weights *from, const int *order, const cse_weights_target *to,
                                 uint64_t begin)
{
    static const char zeros[ALIGNMENT] = "";
    uint64_t at = begin;
    for (int i = 0; i < from->count; i++) {
        const uint64_t end = at + cse_weight_bytes(&from->list[order[i]]);
        CSE_TRY(cse_weights_put(from, order[i], to, at, NULL));
        CSE_TRY(cse_weights_put_bytes(to, zeros, aligned(end) - end, end));
        at = aligned(end);
    }
    return CSE_OK;
}

static cse_status write_gguf(cse_weights *from, const cse_weights_target *to)
{
    static const cse_element accepted[] = { CSE_ELEMENT_F32, CSE_ELEMENT_F16, CSE_ELEMENT_BF16,
                                            CSE_ELEMENT_F64, CSE_ELEMENT_I64, CSE_ELEMENT_I32,
                                            CSE_ELEMENT_I16, CSE_ELEMENT_I8,  CSE_ELEMENT_COUNT };
    cse_text head = { 0 }, facts = { 0 };
    CSE_TRY(cse_weights_accept(from, to, accepted));
    for (int i = 0; i < from->count; i++)
        if (from->list[i].shape.rank > MOST_DIMENSIONS)
            return cse_fail(CSE_SHAPE, "%s: '%s' has more than 4 dimensions, the most of GGUF",
                            to->path, from->list[i].name);
    int *order = cse_weights_name_order(from);
    const uint64_t count = put_facts(&facts, to->facts);
    cse_text_add_bytes(&head, "GGUF", 4);
    put_number(&head, VERSION, 4);
    put_number(&head, (uint64_t)from->count, 8);
    put_number(&head, count, 8);
    cse_text_add_bytes(&head, facts.data, facts.size);
    put_weights(&head, from, order);
    while (head.size % ALIGNMENT != 0)
        put_number(&head, 0, 1);
    cse_status status = cse_weights_put_bytes(to, head.data, head.size, 0);
    if (status == CSE_OK)
        status = write_elements(from, order, to, head.size);
    cse_text_clear(&facts);
    cse_text_clear(&head);
    free(order);
    return status;
}

const cse_weights_format cse_weight_format_gguf = {
    .name = "gguf",
    .summary = "weights of llama.cpp and other local programs, unpacked",
    .extensions = ".gguf",
    .begins = begins,
    .open = open_gguf,
    .write = write_gguf,
};
