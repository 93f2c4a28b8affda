/* A fact is a name, a type and a value. Lists are passed over, but for those of the tokenizer. */
#include "engine/formats/weights/weight_formats/gguf_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/checkpoint/file_bytes.h"

enum {
    MOST_HEAD_BYTES = 1 << 28, /* of all before the elements: a tokenizer is in it */
    MOST_TOKENS = 1 << 21,
    MOST_NESTING = 4
};

static const size_t fact_bytes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
static const char of_tokenizer[] = "tokenizer.";

cse_status cse_gguf_refuse(const cse_gguf_reading *r, const char *what)
{
    return cse_fail(CSE_DATA, "%s: byte %" PRIu64 ": %s", r->at->path, r->next, what);
}

cse_status cse_gguf_take(cse_gguf_reading *r, uint64_t bytes, const unsigned char **at)
{
    if (bytes > r->at->bytes - r->next || r->next + bytes > MOST_HEAD_BYTES)
        return cse_gguf_refuse(
            r, "the head goes beyond the end of the file, or has more than 256 MiB");
    if (r->next + bytes > r->size) {
        uint64_t more = 2 * (r->next + bytes) + 65536;
        more = more < r->at->bytes ? more : r->at->bytes;
        r->head = cse_realloc(r->head, more);
        if (cse_read_at(r->at->descriptor, r->head + r->size, more - r->size, r->size) !=
            (int64_t)(more - r->size))
            return cse_gguf_refuse(r, "cannot be read");
        r->size = more;
    }
    *at = r->head + r->next;
    r->next += bytes;
    return CSE_OK;
}

cse_status cse_gguf_take_number(cse_gguf_reading *r, int bytes, uint64_t *number)
{
    const unsigned char *at = NULL;
    CSE_TRY(cse_gguf_take(r, (uint64_t)bytes, &at));
    *number = 0;
    for (int i = bytes; i > 0; i--)
        *number = *number << 8 | at[i - 1];
    return CSE_OK;
}

cse_status cse_gguf_take_text(cse_gguf_reading *r, const char **text, uint64_t most)
{
    uint64_t length = 0;
    const unsigned char *at = NULL;
    CSE_TRY(cse_gguf_take_number(r, 8, &length));
    if (length > most)
        return cse_gguf_refuse(r, "a text is too long");
    CSE_TRY(cse_gguf_take(r, length, &at));
    if (memchr(at, 0, length) != NULL)
        return cse_gguf_refuse(r, "a text has a zero byte");
    *text = cse_arena_printf(r->weights->arena, "%.*s", (int)length, (const char *)at);
    return CSE_OK;
}

/* ---- scalars ---- */

static int64_t sign_extended(uint64_t number, size_t bytes)
{
    const int shift = 64 - 8 * (int)bytes;
    return (int64_t)(number << shift) >> shift;
}

static json_t *number_of(uint64_t type, uint64_t number)
{
    float single;
    double wide;
    if (type == CSE_GGUF_FLOAT32) {
        const uint32_t bits = (uint32_t)number;
        memcpy(&single, &bits, sizeof single);
        char text[32];
        snprintf(text, sizeof text, "%.7g", (double)single); /* as it was written in decimals */
        return json_real(strtod(text, NULL));
    }
    if (type == CSE_GGUF_FLOAT64) {
        memcpy(&wide, &number, sizeof wide);
        return json_real(wide);
    }
    if (type == CSE_GGUF_BOOLEAN)
        return json_boolean(number != 0);
    const bool is_signed =
        type == CSE_GGUF_I8 || type == CSE_GGUF_I16 || type == CSE_GGUF_I32 || type == CSE_GGUF_I64;
    return json_integer(is_signed ? sign_extended(number, fact_bytes[type]) : (json_int_t)number);
}

static cse_status read_scalar(cse_gguf_reading *r, uint64_t type, json_t **value)
{
    uint64_t number = 0;
    const char *text = NULL;
    if (type == CSE_GGUF_TEXT) {
        CSE_TRY(cse_gguf_take_text(r, &text, 1 << 20));
        *value = json_string(text);
        if (*value == NULL)
            *value = json_string("text that is not UTF-8");
        return CSE_OK;
    }
    CSE_TRY(cse_gguf_take_number(r, (int)fact_bytes[type], &number));
    *value = number_of(type, number);
    if (*value == NULL) /* no JSON number is infinite, but the name must be known */
        *value = json_string("not a finite number");
    return CSE_OK;
}

/* ---- lists ---- */

static cse_status begin_list(cse_gguf_reading *r, int depth, uint64_t *type, uint64_t *count)
{
    CSE_TRY(cse_gguf_take_number(r, 4, type));
    CSE_TRY(cse_gguf_take_number(r, 8, count));
    if (*type >= CSE_GGUF_FACT_TYPES || depth > MOST_NESTING)
        return cse_gguf_refuse(r, "a list has a type that is not known");
    if (*count > r->at->bytes)
        return cse_gguf_refuse(r, "a list has more entries than the file has bytes");
    return CSE_OK;
}

static cse_status skip_list(cse_gguf_reading *r, int depth)
{
    uint64_t type = 0, count = 0, length = 0;
    const unsigned char *at = NULL;
    CSE_TRY(begin_list(r, depth, &type, &count));
    if (fact_bytes[type] > 0)
        return cse_gguf_take(r, count * fact_bytes[type], &at);
    for (uint64_t i = 0; i < count; i++) {
        if (type == CSE_GGUF_LIST) {
            CSE_TRY(skip_list(r, depth + 1));
            continue;
        }
        CSE_TRY(cse_gguf_take_number(r, 8, &length));
        CSE_TRY(cse_gguf_take(r, length, &at));
    }
    return CSE_OK;
}

/* An entry of the tokenizer's lists; what is no UTF-8 becomes null, and is refused when a tokenizer
 * is made of it. */
static cse_status read_entry(cse_gguf_reading *r, uint64_t type, json_t **value)
{
    uint64_t number = 0;
    const unsigned char *at = NULL;
    if (type == CSE_GGUF_TEXT) {
        CSE_TRY(cse_gguf_take_number(r, 8, &number));
        CSE_TRY(cse_gguf_take(r, number, &at));
        *value = json_stringn((const char *)at, number);
    } else if (type == CSE_GGUF_FLOAT32) { /* all its bits: scores are compared */
        float single;
        CSE_TRY(cse_gguf_take(r, sizeof single, &at));
        memcpy(&single, at, sizeof single);
        *value = json_real((double)single);
    } else {
        CSE_TRY(cse_gguf_take_number(r, (int)fact_bytes[type], &number));
        *value = number_of(type, number);
    }
    if (*value == NULL)
        *value = json_null();
    return CSE_OK;
}

static cse_status read_list(cse_gguf_reading *r, json_t *list)
{
    uint64_t type = 0, count = 0;
    json_t *value = NULL;
    CSE_TRY(begin_list(r, 0, &type, &count));
    if (type == CSE_GGUF_LIST || count > MOST_TOKENS)
        return cse_gguf_refuse(r, "a list of the tokenizer has lists in it, or more than 2097152 "
                                  "entries");
    for (uint64_t i = 0; i < count; i++) {
        CSE_TRY(read_entry(r, type, &value));
        json_array_append_new(list, value);
    }
    return CSE_OK;
}

cse_status cse_gguf_read_fact(cse_gguf_reading *r)
{
    const char *name = NULL;
    uint64_t type = 0;
    json_t *value = NULL;
    CSE_TRY(cse_gguf_take_text(r, &name, 65535));
    CSE_TRY(cse_gguf_take_number(r, 4, &type));
    if (type >= CSE_GGUF_FACT_TYPES)
        return cse_gguf_refuse(r, "a fact has a type that is not known");
    if (json_object_get(r->facts, name) != NULL)
        return cse_gguf_refuse(r, "a fact is there twice");
    const bool is_kept = strncmp(name, of_tokenizer, sizeof of_tokenizer - 1) == 0;
    if (type != CSE_GGUF_LIST) {
        CSE_TRY(read_scalar(r, type, &value));
        if (is_kept)
            json_object_set(r->tokenizer, name, value);
        json_object_set_new(r->facts, name, value);
        return CSE_OK;
    }
    json_object_set_new(r->facts, name, json_pack("[s]", "list")); /* it is there */
    if (!is_kept)
        return skip_list(r, 0);
    value = json_array();
    json_object_set_new(r->tokenizer, name, value);
    return read_list(r, value);
}
