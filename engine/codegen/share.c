/* Removes the numbers from a group's text, compares, and inserts parameters; see share.h. */
#include "engine/codegen/share.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

enum { NAME_BYTES = 64 };

typedef struct unit {
    cse_text comment, functions;
    cse_text kind; /* the functions without their numbers */
    uint64_t hash; /* of `kind` */
    int64_t *places;
    int place_count, place_capacity;
    int first; /* the first group of this kind */
    int uses;  /* of the kind, counted at its first group */
} unit;

struct cse_sharer {
    unit *units;
    int count;
};

/* The functions that a group may have. */
static const struct {
    const char *name, *parameters, *arguments; /* NULL: only called inside the group */
} functions[] = {
    { "group_%d", "const cse_step_frame *frame", "frame" },
    { "group_%d_statistics", "const cse_step_frame *frame", "frame" },
    { "update_%d",
      "const cse_step_frame *frame, const int64_t lines[2],\n    const cse_step_undo *undo",
      "frame, lines, undo" },
    { "values_%d", NULL, NULL },
};

enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

/* ---- words ---- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (in_word(at[length]))
        length++;
    return length;
}

/* The index of the group's function that a word names; -1: none. */
static int function_of(const char *word, size_t length, int group)
{
    char name[NAME_BYTES];
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        int size = snprintf(name, sizeof name, functions[f].name, group);
        if ((size_t)size == length && memcmp(word, name, length) == 0)
            return f;
    }
    return -1;
}

/* "v12": a letter and a node's number. */
static bool is_numbered(const char *word, size_t length)
{
    if (length < 2 || length > 10 || !islower((unsigned char)word[0]))
        return false;
    return strspn(word + 1, "0123456789") >= length - 1;
}

/* Length of the text before the number in "CSE_PLACE(type, space, 64)" or "kernels[3]"; 0 where
 * `word` begins neither. */
static size_t before_number(const char *word, size_t length)
{
    const char *end = NULL;
    if (length == 9 && memcmp(word, "CSE_PLACE", 9) == 0) {
        end = strchr(word, ',');
        end = end != NULL ? strchr(end + 1, ',') : NULL;
        end = end != NULL ? end + 2 : NULL;
    } else if (length == 7 && memcmp(word, "kernels", 7) == 0 && word[7] == '[') {
        end = word + 8;
    }
    return end != NULL && isdigit((unsigned char)*end) ? (size_t)(end - word) : 0;
}

static void add_place(unit *u, int64_t place)
{
    if (u->place_count == u->place_capacity) {
        u->place_capacity = 2 * u->place_capacity + 8;
        u->places = realloc(u->places, (size_t)u->place_capacity * sizeof *u->places);
        if (u->places == NULL)
            abort();
    }
    u->places[u->place_count++] = place;
}

/* ---- comparing ---- */

/* Renumbers nodes in the order of their first occurrence. */
typedef struct numbering {
    long *known;
    int count, capacity;
} numbering;

static int number_of(numbering *numbers, long node)
{
    for (int i = numbers->count - 1; i >= 0; i--)
        if (numbers->known[i] == node)
            return i;
    if (numbers->count == numbers->capacity) {
        numbers->capacity = 2 * numbers->capacity + 32;
        numbers->known = realloc(numbers->known, (size_t)numbers->capacity * sizeof(long));
        if (numbers->known == NULL)
            abort();
    }
    numbers->known[numbers->count] = node;
    return numbers->count++;
}

static void take_numbers_out(unit *u, int group)
{
    numbering numbers = { 0 };
    for (const char *at = u->functions.data; *at != '\0';) {
        size_t length = word_length(at), before = length > 0 ? before_number(at, length) : 0;
        if (length == 0) {
            cse_text_add_bytes(&u->kind, at++, 1);
        } else if (before > 0) {
            char *end;
            cse_text_add_bytes(&u->kind, at, before);
            add_place(u, strtoll(at + before, &end, 10));
            at = end;
        } else if (function_of(at, length, group) >= 0) {
            cse_text_add(&u->kind, "$%d", function_of(at, length, group));
            at += length;
        } else if (is_numbered(at, length)) {
            cse_text_add(&u->kind, "%c$%d", at[0], number_of(&numbers, strtol(at + 1, NULL, 10)));
            at += length;
        } else {
            cse_text_add_bytes(&u->kind, at, length);
            at += length;
        }
    }
    free(numbers.known);
    u->hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < u->kind.size; i++)
        u->hash = (u->hash ^ (unsigned char)u->kind.data[i]) * UINT64_C(0x100000001b3);
}

cse_sharer *cse_sharer_new(int group_count)
{
    cse_sharer *sharer = cse_calloc(1, sizeof *sharer);
    sharer->units = cse_calloc((size_t)group_count + 1, sizeof *sharer->units);
    sharer->count = group_count;
    for (int g = 0; g < group_count; g++)
        sharer->units[g].first = -1;
    return sharer;
}

void cse_sharer_destroy(cse_sharer **sharer)
{
    for (int g = 0; g < (*sharer)->count; g++) {
        unit *u = &(*sharer)->units[g];
        cse_text_clear(&u->comment);
        cse_text_clear(&u->functions);
        cse_text_clear(&u->kind);
        free(u->places);
    }
    free((*sharer)->units);
    free(*sharer);
    *sharer = NULL;
}

void cse_sharer_add_take(cse_sharer *sharer, int group, cse_text *comment, cse_text *text)
{
    unit *u = &sharer->units[group];
    u->comment = *comment;
    u->functions = *text;
    *comment = *text = (cse_text){ 0 };
    u->first = group;
    if (u->functions.size > 0)
        take_numbers_out(u, group);
    for (int g = 0; g < group; g++) {
        const unit *other = &sharer->units[g];
        if (other->first == g && other->hash == u->hash && other->kind.size == u->kind.size &&
            u->kind.size > 0 && memcmp(other->kind.data, u->kind.data, u->kind.size) == 0)
            u->first = g;
    }
    sharer->units[u->first].uses++;
}

/* ---- printing ---- */

/* The functions of the first group of a kind, with offsets as parameters. */
static void print_shared(const unit *u, int group, cse_text *out)
{
    int place = 0;
    for (const char *at = u->functions.data; *at != '\0';) {
        size_t length = word_length(at), before = length > 0 ? before_number(at, length) : 0;
        int function = length > 0 ? function_of(at, length, group) : -1;
        if (before > 0) {
            cse_text_add_bytes(out, at, before);
            cse_text_add(out, "places[%d]", place++);
            at += before + strspn(at + before, "0123456789");
        } else if (function >= 0) {
            const char *next = at + length + 1;
            next += strspn(next, " \n");
            bool defined = strncmp(next, "const cse_step_frame", 20) == 0;
            cse_text_add(out, "shared_%.*s(%s", (int)length, at,
                         defined ? "const int64_t *const places, " : "places, ");
            at = next;
        } else {
            length = length > 0 ? length : 1;
            cse_text_add_bytes(out, at, length);
            at += length;
        }
    }
}

/* Whether the group's text defines a function. */
static bool has_function(const unit *u, int function, int group)
{
    char name[NAME_BYTES + 8];
    snprintf(name, sizeof name, "void ");
    snprintf(name + 5, sizeof name - 5, functions[function].name, group);
    const char *found = strstr(u->functions.data, name);
    return found != NULL && found[strlen(name)] == '(';
}

/* The group's functions as calls of the shared ones with its own places. */
static void print_calls(const unit *u, int group, cse_text *out)
{
    char own[NAME_BYTES], shared[NAME_BYTES];
    cse_text_add(out, "static const int64_t places_%d[] = {", group);
    for (int i = 0; i < u->place_count; i++)
        cse_text_add(out, "%s%lld",
                     i == 0       ? " "
                     : i % 8 == 0 ? ",\n    "
                                  : ", ",
                     (long long)u->places[i]);
    cse_text_add(out, "%s };\n", u->place_count == 0 ? " 0" : "");
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        snprintf(own, sizeof own, functions[f].name, group);
        snprintf(shared, sizeof shared, functions[f].name, u->first);
        if (functions[f].parameters != NULL && has_function(u, f, group))
            cse_text_add(out, "static void %s(%s)\n{\n    shared_%s(places_%d, %s);\n}\n", own,
                         functions[f].parameters, shared, group, functions[f].arguments);
    }
    cse_text_add(out, "\n");
}

void cse_sharer_print(const cse_sharer *sharer, cse_text *out)
{
    for (int g = 0; g < sharer->count; g++) {
        const unit *u = &sharer->units[g];
        cse_text_add_bytes(out, u->comment.data, u->comment.size);
        if (u->functions.size == 0)
            continue;
        if (sharer->units[u->first].uses < 2) {
            cse_text_add_bytes(out, u->functions.data, u->functions.size);
            continue;
        }
        if (u->first == g)
            print_shared(u, g, out);
        print_calls(u, g, out);
    }
}
