/* All of the head is made first: each weight's type decides where the next one lies. */
#include "engine/formats/weights/weight_formats/gguf_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "engine/formats/weights/packed/packed_weight.h"
#include "engine/formats/weights/weight_formats/gguf_facts.h"

enum { VERSION = 3, ALIGNMENT = 32, MOST_DIMENSIONS = 4, QUANTIZATION_VERSION = 2 };

/* `file_type`: GGUF's number of a file with most weights so; -1: it has none. */
static const struct {
    uint32_t type;
    cse_element element;
    int file_type;
} types[] = {
    { 0, CSE_ELEMENT_F32, 0 },   { 1, CSE_ELEMENT_F16, 1 },    { 24, CSE_ELEMENT_I8, -1 },
    { 25, CSE_ELEMENT_I16, -1 }, { 26, CSE_ELEMENT_I32, -1 },  { 27, CSE_ELEMENT_I64, -1 },
    { 28, CSE_ELEMENT_F64, -1 }, { 30, CSE_ELEMENT_BF16, 32 },
};
enum { TYPES = sizeof types / sizeof types[0] };

cse_element cse_gguf_element(uint32_t type)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].type == type)
            return types[i].element;
    return CSE_ELEMENT_COUNT;
}

/* How a weight is stored. */
typedef struct stored {
    cse_element element;
    const cse_packed_type *packed; /* of blocks of float32; NULL: plain elements */
    bool kept;                     /* as the blocks that they are */
    uint64_t bytes;
} stored;

typedef struct writing {
    cse_weights *from;
    const cse_weights_target *to;
    int *order;
    stored *stored; /* in that order */
} writing;

/* ---- facts ---- */

static void put_number(cse_text *out, uint64_t value, int bytes)
{
    char number[8];
    for (int i = 0; i < bytes; i++)
        number[i] = (char)(value >> (8 * i));
    cse_text_add_bytes(out, number, (size_t)bytes);
}

static void put_text(cse_text *out, const char *text, size_t length)
{
    put_number(out, length, 8);
    cse_text_add_bytes(out, text, length);
}

static void put_value(cse_text *out, int type, const json_t *value)
{
    const float single = (float)json_number_value(value);
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (type == CSE_GGUF_TEXT)
        put_text(out, json_string_value(value), json_string_length(value));
    else if (type == CSE_GGUF_BOOLEAN)
        put_number(out, json_is_true(value), 1);
    else
        put_number(out, type == CSE_GGUF_FLOAT32 ? bits : (uint64_t)json_integer_value(value), 4);
}

/* Whether readers want a number as float32, although it may be a whole one. */
static bool is_fraction(const char *name)
{
    static const char *const parts[] = { "epsilon", "freq_base",   "scale",      ".factor",
                                         "beta_",   "attn_factor", "softcapping" };
    bool found = false;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        found = found || strstr(name, parts[i]) != NULL;
    return found;
}

/* Of a kind that facts have: text, uint32, float32 or bool; in lists int32. */
static int type_of(const char *name, const json_t *value, bool in_list)
{
    return json_is_string(value)                        ? CSE_GGUF_TEXT
           : json_is_number(value) && is_fraction(name) ? CSE_GGUF_FLOAT32
           : json_is_integer(value)                     ? (in_list ? CSE_GGUF_I32 : CSE_GGUF_U32)
           : json_is_real(value)                        ? CSE_GGUF_FLOAT32
           : json_is_boolean(value)                     ? CSE_GGUF_BOOLEAN
                                                        : CSE_GGUF_FACT_TYPES;
}

static bool put_list(cse_text *out, const char *name, const json_t *list)
{
    const int type = type_of(name, json_array_get(list, 0), true);
    if (type == CSE_GGUF_FACT_TYPES)
        return false;
    put_text(out, name, strlen(name));
    put_number(out, CSE_GGUF_LIST, 4);
    put_number(out, (uint64_t)type, 4);
    put_number(out, json_array_size(list), 8);
    for (size_t i = 0; i < json_array_size(list); i++)
        put_value(out, type, json_array_get(list, i));
    return true;
}

static bool put_fact(cse_text *out, const char *name, const json_t *value)
{
    const int type = type_of(name, value, false);
    if (json_is_array(value))
        return put_list(out, name, value);
    if (type == CSE_GGUF_FACT_TYPES)
        return false;
    put_text(out, name, strlen(name));
    put_number(out, (uint64_t)type, 4);
    put_value(out, type, value);
    return true;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* In the order of their names, but for the architecture, which readers want first. */
static uint64_t put_facts(cse_text *out, const json_t *facts)
{
    static const char first[] = "general.architecture";
    uint64_t count = put_fact(out, first, json_object_get(facts, first));
    const char **names = cse_calloc(json_object_size(facts) + 1, sizeof *names), *name;
    size_t size = 0;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)facts, name, value) names[size++] = name;
    qsort(names, size, sizeof *names, compare_names);
    for (size_t i = 0; i < size; i++)
        if (strcmp(names[i], first) != 0)
            count += put_fact(out, names[i], json_object_get(facts, names[i]));
    free(names);
    return count;
}

/* The type of most of the blocks that are kept as they are; NULL: none are. */
static const cse_packed_type *most_kept(const writing *w)
{
    const cse_packed_type *most = NULL;
    uint64_t most_bytes = 0;
    for (const cse_packed_type *const *row = cse_packed_types; *row != NULL; row++) {
        uint64_t bytes = 0;
        for (int i = 0; i < w->from->count; i++)
            bytes += w->stored[i].kept && w->stored[i].packed == *row ? w->stored[i].bytes : 0;
        most = bytes > most_bytes ? *row : most;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    return most;
}

/* Facts of the model, of its tokenizer, and of the file; json_decref(). */
static json_t *all_facts(const writing *w)
{
    const cse_packed_type *packed = w->to->packed != NULL ? w->to->packed : most_kept(w);
    if (w->to->facts == NULL)
        return json_pack("{s:s}", "general.architecture", CSE_GGUF_ARCHITECTURE_OF_OURS);
    json_t *all = json_copy((json_t *)(uintptr_t)w->to->facts);
    if (w->to->tokenizer != NULL)
        json_object_update(all, (json_t *)(uintptr_t)w->to->tokenizer);
    cse_element element = CSE_ELEMENT_COUNT;
    for (int i = 0; i < w->from->count && element == CSE_ELEMENT_COUNT; i++)
        if (w->from->list[i].shape.rank > 1)
            element = w->from->list[i].element;
    int file_type = packed != NULL ? (int)packed->file_type : -1;
    for (int i = 0; i < TYPES && packed == NULL; i++)
        if (types[i].element == element)
            file_type = types[i].file_type;
    if (file_type >= 0)
        json_object_set_new(all, "general.file_type", json_integer(file_type));
    if (packed != NULL)
        json_object_set_new(all, "general.quantization_version",
                            json_integer(QUANTIZATION_VERSION));
    return all;
}

/* ---- types ---- */

/* The packed type of a matrix: the one asked for, or what takes rows that are no whole blocks of
 * it; `*half` when none does. */
static const cse_packed_type *packed_of(const cse_packed_type *type, const cse_weight *weight,
                                        bool *half)
{
    while (type != NULL && !cse_packed_fits(type, weight->shape))
        type = type->instead;
    *half = type == NULL;
    return type;
}

static void choose(const writing *w, int place, cse_text *instead)
{
    const cse_weight *weight = &w->from->list[w->order[place]];
    const cse_packed_type *wanted = w->to->packed;
    const bool is_matrix = weight->shape.rank > 1, is_float = cse_element_is_float(weight->element);
    stored *s = &w->stored[place];
    bool half = false;
    *s = (stored){ .element = weight->element };
    if (is_float && is_matrix && wanted != NULL) {
        s->packed = packed_of(wanted, weight, &half);
        s->element = half ? CSE_ELEMENT_F16 : CSE_ELEMENT_F32;
        if (s->packed != wanted)
            cse_text_add(instead, "%s%s as %s", instead->size > 0 ? ", " : "", weight->name,
                         half ? "F16" : s->packed->name);
    } else if (is_float && !is_matrix && w->to->facts != NULL) {
        s->element = CSE_ELEMENT_F32;
    } else if (wanted == NULL && weight->packed != NULL &&
               weight->packed->number < CSE_PACKED_OWN) {
        s->packed = weight->packed;
        s->kept = true;
    }
    const uint64_t count = cse_weight_bytes(weight) / cse_element_bytes(weight->element);
    s->bytes = s->packed != NULL ? cse_packed_bytes(s->packed, count)
                                 : count * cse_element_bytes(s->element);
}

static void choose_all(const writing *w)
{
    cse_text instead = { 0 };
    for (int i = 0; i < w->from->count; i++)
        choose(w, i, &instead);
    if (instead.size > 0 && w->to->notice != NULL)
        cse_text_add(w->to->notice,
                     "%s: the rows of these are no whole blocks of %d elements, as %s "
                     "has them: %s\n",
                     w->to->path, w->to->packed->elements, w->to->packed->name, instead.data);
    cse_text_clear(&instead);
}

/* ---- weights ---- */

static uint64_t aligned(uint64_t at)
{
    return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_weights(cse_text *out, const writing *w)
{
    uint64_t at = 0;
    for (int i = 0; i < w->from->count; i++) {
        const cse_weight *weight = &w->from->list[w->order[i]];
        const stored *s = &w->stored[i];
        put_text(out, weight->name, strlen(weight->name));
        put_number(out, (uint64_t)weight->shape.rank, 4);
        for (int k = weight->shape.rank - 1; k >= 0; k--)
            put_number(out, (uint64_t)weight->shape.dims[k], 8);
        if (s->packed != NULL)
            put_number(out, s->packed->number, 4);
        for (int t = 0; t < TYPES && s->packed == NULL; t++)
            if (types[t].element == s->element)
                put_number(out, types[t].type, 4);
        put_number(out, at, 8);
        at = aligned(at + s->bytes);
    }
}

enum { VALUES_AT_ONCE = 1 << 16 }; /* whole blocks of every type */

/* Converts, and packs, so many elements at a time. */
static cse_status put_converted(const writing *w, int place, uint64_t begin)
{
    const int index = w->order[place];
    const cse_weight *weight = &w->from->list[index];
    const stored *s = &w->stored[place];
    const size_t width = cse_element_bytes(weight->element), out = cse_element_bytes(s->element);
    const uint64_t count = cse_weight_bytes(weight) / width;
    unsigned char *read = cse_malloc(VALUES_AT_ONCE * width);
    unsigned char *values = cse_malloc(VALUES_AT_ONCE * out);
    unsigned char *blocks = cse_malloc(VALUES_AT_ONCE * sizeof(float));
    cse_status status = CSE_OK;
    for (uint64_t done = 0; done < count && status == CSE_OK; done += VALUES_AT_ONCE) {
        const size_t some = count - done < VALUES_AT_ONCE ? (size_t)(count - done) : VALUES_AT_ONCE;
        status = cse_weights_read(w->from, index, done * width, some * width, read);
        if (status != CSE_OK)
            break;
        cse_element_convert(weight->element, read, s->element, values, some);
        if (s->packed != NULL)
            cse_packed_pack(s->packed, (const float *)(const void *)values, some, blocks);
        status =
            s->packed != NULL
                ? cse_weights_put_bytes(w->to, blocks, (size_t)cse_packed_bytes(s->packed, some),
                                        begin + cse_packed_bytes(s->packed, done))
                : cse_weights_put_bytes(w->to, values, some * out, begin + done * out);
    }
    free(blocks);
    free(values);
    free(read);
    return status;
}

/* The blocks as they lie in the source. */
static cse_status put_blocks(const writing *w, int place, uint64_t begin)
{
    enum { ROWS_AT_ONCE = 64 };
    const int index = w->order[place];
    const cse_weight *weight = &w->from->list[index];
    const uint64_t row = cse_weight_row_bytes(weight);
    const int64_t rows = row > 0 ? (int64_t)(w->stored[place].bytes / row) : 0;
    unsigned char *blocks = cse_malloc(row * ROWS_AT_ONCE + 1);
    cse_status status = CSE_OK;
    for (int64_t r = 0; r < rows && status == CSE_OK; r += ROWS_AT_ONCE) {
        const int64_t some = rows - r < ROWS_AT_ONCE ? rows - r : ROWS_AT_ONCE;
        status = cse_weights_read_rows(w->from, index, r, some, blocks);
        if (status == CSE_OK)
            status = cse_weights_put_bytes(w->to, blocks, (size_t)((uint64_t)some * row),
                                           begin + (uint64_t)r * row);
    }
    free(blocks);
    return status;
}

static cse_status write_elements(const writing *w, uint64_t begin)
{
    static const char zeros[ALIGNMENT] = "";
    uint64_t at = begin;
    for (int i = 0; i < w->from->count; i++) {
        const stored *s = &w->stored[i];
        const bool as_it_is = s->packed == NULL && s->element == w->from->list[w->order[i]].element;
        const uint64_t end = at + s->bytes;
        CSE_TRY(s->kept    ? put_blocks(w, i, at)
                : as_it_is ? cse_weights_put(w->from, w->order[i], w->to, at, NULL)
                           : put_converted(w, i, at));
        CSE_TRY(cse_weights_put_bytes(w->to, zeros, aligned(end) - end, end));
        at = aligned(end);
    }
    return CSE_OK;
}

static cse_status write_all(const writing *w)
{
    cse_text head = { 0 }, facts = { 0 };
    json_t *all = all_facts(w);
    const uint64_t count = put_facts(&facts, all);
    cse_text_add_bytes(&head, "GGUF", 4);
    put_number(&head, VERSION, 4);
    put_number(&head, (uint64_t)w->from->count, 8);
    put_number(&head, count, 8);
    cse_text_add_bytes(&head, facts.data, facts.size);
    put_weights(&head, w);
    while (head.size % ALIGNMENT != 0)
        put_number(&head, 0, 1);
    cse_status status = cse_weights_put_bytes(w->to, head.data, head.size, 0);
    if (status == CSE_OK)
        status = write_elements(w, head.size);
    json_decref(all);
    cse_text_clear(&facts);
    cse_text_clear(&head);
    return status;
}

cse_status cse_gguf_write(cse_weights *from, const cse_weights_target *to)
{
    static const cse_element accepted[] = { CSE_ELEMENT_F32, CSE_ELEMENT_F16, CSE_ELEMENT_BF16,
                                            CSE_ELEMENT_F64, CSE_ELEMENT_I64, CSE_ELEMENT_I32,
                                            CSE_ELEMENT_I16, CSE_ELEMENT_I8,  CSE_ELEMENT_COUNT };
    CSE_TRY(cse_weights_accept(from, to, accepted));
    for (int i = 0; i < from->count; i++)
        if (from->list[i].shape.rank > MOST_DIMENSIONS)
            return cse_fail(CSE_SHAPE, "%s: '%s' has more than 4 dimensions, the most of GGUF",
                            to->path, from->list[i].name);
    writing w = { .from = from, .to = to, .order = cse_weights_name_order(from) };
    w.stored = cse_calloc((size_t)from->count + 1, sizeof *w.stored);
    choose_all(&w);
    cse_status status = write_all(&w);
    free(w.stored);
    free(w.order);
    return status;
}
