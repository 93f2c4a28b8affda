/* What a template computes with: the values of Python that Jinja shows. They live in the arena of
 * one rendering and are released with it, so that no value needs an owner. */
#ifndef CSE_DATALOADER_CHAT_VALUE_H
#define CSE_DATALOADER_CHAT_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

typedef enum cse_jinja_kind {
    CSE_JINJA_ABSENT, /* an argument that is not given */
    CSE_JINJA_UNDEFINED,
    CSE_JINJA_NONE,
    CSE_JINJA_BOOLEAN,
    CSE_JINJA_INTEGER,
    CSE_JINJA_FLOAT,
    CSE_JINJA_TEXT,
    CSE_JINJA_LIST,
    CSE_JINJA_TUPLE,
    CSE_JINJA_RANGE,
    CSE_JINJA_VIEW,      /* of keys, values or items of a dict */
    CSE_JINJA_GENERATOR, /* of map, select, ...: read once */
    CSE_JINJA_DICT,
    CSE_JINJA_NAMESPACE,
    CSE_JINJA_LOOP,
    CSE_JINJA_CALLABLE,
} cse_jinja_kind;

typedef struct cse_jinja_list cse_jinja_list;
typedef struct cse_jinja_dict cse_jinja_dict;
typedef struct cse_jinja_callable cse_jinja_callable;
typedef struct cse_jinja_loop cse_jinja_loop;

typedef struct cse_jinja_value {
    cse_jinja_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct {
            const char *bytes; /* UTF-8; of UNDEFINED: what is not defined */
            size_t length;
        } text;
        cse_jinja_list *list; /* LIST, TUPLE, RANGE, VIEW, GENERATOR */
        cse_jinja_dict *dict; /* DICT, NAMESPACE */
        const cse_jinja_callable *callable;
        cse_jinja_loop *loop;
    };
} cse_jinja_value;

struct cse_jinja_list {
    cse_jinja_value *values;
    size_t count, capacity;
    const char *name; /* of a VIEW or GENERATOR, as Python prints it; of a RANGE, its text */
};

/* In the order in which keys came. */
struct cse_jinja_dict {
    cse_jinja_value *keys, *values;
    size_t count, capacity;
};

static inline cse_jinja_value cse_jinja_none(void)
{
    return (cse_jinja_value){ .kind = CSE_JINJA_NONE };
}
static inline cse_jinja_value cse_jinja_boolean(bool boolean)
{
    return (cse_jinja_value){ .kind = CSE_JINJA_BOOLEAN, .boolean = boolean };
}
static inline cse_jinja_value cse_jinja_integer(int64_t integer)
{
    return (cse_jinja_value){ .kind = CSE_JINJA_INTEGER, .integer = integer };
}
static inline cse_jinja_value cse_jinja_float(double number)
{
    return (cse_jinja_value){ .kind = CSE_JINJA_FLOAT, .number = number };
}
/* The bytes are not copied. */
static inline cse_jinja_value cse_jinja_text(const char *bytes, size_t length)
{
    return (cse_jinja_value){ .kind = CSE_JINJA_TEXT, .text = { bytes, length } };
}
cse_jinja_value cse_jinja_word(const char *text);
cse_jinja_value cse_jinja_undefined(const char *what);
/* Copied to the arena, with a zero byte behind it. */
cse_jinja_value cse_jinja_text_copy(cse_arena *arena, const char *bytes, size_t length);

/* The text of a value that names something, with a zero byte behind it; "" where it is no text, or
 * holds a zero byte. */
const char *cse_jinja_name_of(cse_arena *arena, const cse_jinja_value *value);

/* An empty list of the kind, with room for `capacity` values. */
cse_jinja_value cse_jinja_list_new(cse_arena *arena, cse_jinja_kind kind, size_t capacity);
void cse_jinja_list_add(cse_arena *arena, cse_jinja_list *list, cse_jinja_value value);
cse_jinja_value cse_jinja_pair(cse_arena *arena, cse_jinja_value first, cse_jinja_value second);

cse_jinja_value cse_jinja_dict_new(cse_arena *arena, cse_jinja_kind kind);
/* NULL: there is no such key. */
cse_jinja_value *cse_jinja_dict_find(const cse_jinja_dict *dict, const cse_jinja_value *key);
cse_jinja_value *cse_jinja_dict_find_word(const cse_jinja_dict *dict, const char *key);
/* Adds it, or changes it where it is. */
void cse_jinja_dict_set(cse_arena *arena, cse_jinja_dict *dict, cse_jinja_value key,
                        cse_jinja_value value);
/* Adds a key that is not there. */
void cse_jinja_dict_add(cse_arena *arena, cse_jinja_dict *dict, cse_jinja_value key,
                        cse_jinja_value value);

/* Of JSON, whose texts must outlive the value. */
cse_jinja_value cse_jinja_of_json(cse_arena *arena, const json_t *json);

static inline bool cse_jinja_is_list(const cse_jinja_value *value)
{
    return value->kind >= CSE_JINJA_LIST && value->kind <= CSE_JINJA_GENERATOR;
}
/* An integer or a boolean, which counts as one in Python. */
bool cse_jinja_is_whole(const cse_jinja_value *value, int64_t *integer);
bool cse_jinja_is_number(const cse_jinja_value *value, double *number);
bool cse_jinja_is_true(const cse_jinja_value *value);
/* *compared grows by the values that were compared, and by one for each 64 bytes of text; beyond
 * CSE_JINJA_MOST_COMPARED the answer is not known. Templates compare by run.h, which counts
 * that. */
enum { CSE_JINJA_MOST_COMPARED = 10000000 };
bool cse_jinja_equal(const cse_jinja_value *a, const cse_jinja_value *b, int64_t *compared);
/* -1, 0 or 1; false: values of these kinds have no order. */
bool cse_jinja_order(const cse_jinja_value *a, const cse_jinja_value *b, int *order,
                     int64_t *compared);
bool cse_jinja_is_text(const cse_jinja_value *value, const char *text);
/* The name of the kind as Python has it: "str". */
const char *cse_jinja_kind_name(const cse_jinja_value *value);

/* Adds it as Python's str() and repr() write it. Values can hold one another many times over: text
 * longer than CSE_JINJA_MOST_BYTES breaks off, which the caller looks for. */
enum { CSE_JINJA_MOST_BYTES = 1 << 26 };
void cse_jinja_print(cse_text *out, const cse_jinja_value *value);
void cse_jinja_repr(cse_text *out, const cse_jinja_value *value);
/* Adds a number as Python's repr() writes it: the shortest text that reads back the same. */
void cse_jinja_print_float(cse_text *out, double number);

#endif
