/* Removes the numbers from a group's text, compares, and inserts parameters; see share.h. */
#include "engine/code/codegen/share.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/code/codegen/emit.h"

/* Functions that are alike. */
typedef struct kind {
    cse_text comment, functions; /* of the first group */
    cse_text text;               /* the functions without their numbers */
    uint64_t hash;               /* of `text` */
    int group;                   /* the first group */
    int uses;
} kind;

struct cse_sharer {
    cse_program *program;
    kind *kinds;
    int count, capacity;
    int *slots; /* hash table: 1 + index of a kind */
    int slot_count;
    /* Of the text that is compared: */
    cse_text text;
    cse_program_parameter *parameters;
    int parameter_count, parameter_capacity;
};

/* The functions that a group may have: their names around the group's number, and what they are
 * called with. */
static const struct {
    const char *before, *after;
    const char *parameters; /* as they are printed in the type of the entry; NULL: not called */
    int entry;
} functions[] = {
    { "group_", "", "const cse_step_frame *frame", CSE_ENTRY_RUN },
    { "group_", "_statistics", "const cse_step_frame *frame", CSE_ENTRY_STATISTICS },
    { "update_", "",
      "const cse_step_frame *frame,\n        const int64_t lines[2], const cse_step_undo *undo",
      CSE_ENTRY_UPDATE },
    { "proposed_", "",
      "const cse_step_frame *frame,\n        const int64_t lines[2], float *const values[]",
      CSE_ENTRY_PROPOSE },
    { "values_", "", NULL, 0 },
};

enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

/* ---- words ---- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (in_word(at[length]))
        length++;
    return length;
}

static bool is(const char *word, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(word, text, length) == 0;
}

/* The index of the group's function that a word names; -1: none. */
static int function_of(const char *word, size_t length, int group)
{
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        size_t before = strlen(functions[f].before), digits = 0;
        if (length <= before || word[0] != functions[f].before[0] ||
            memcmp(word, functions[f].before, before) != 0)
            continue;
        while (before + digits < length && is_digit(word[before + digits]))
            digits++;
        if (digits > 0 && atoi(word + before) == group &&
            is(word + before + digits, length - before - digits, functions[f].after))
            return f;
    }
    return -1;
}

/* "v12": a letter and a node's number. */
static bool is_numbered(const char *word, size_t length)
{
    if (length < 2 || length > 10 || !islower((unsigned char)word[0]))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!is_digit(word[i]))
            return false;
    return true;
}

static cse_space space_of(const char *name)
{
    for (cse_space space = CSE_SPACE_NONE; space < CSE_SPACE_COUNT; space++) {
        const char *known = cse_emit_space(space);
        if (strncmp(name, known, strlen(known)) == 0 && !in_word(name[strlen(known)]))
            return space;
    }
    return CSE_SPACE_NONE;
}

/* Length of the text before a number that becomes a parameter, which `word` begins; 0: none. */
static size_t before_number(const char *word, size_t length, cse_program_parameter *parameter)
{
    const char *end = NULL;
    *parameter = (cse_program_parameter){ .kind = CSE_PARAMETER_KERNEL };
    if (is(word, length, "CSE_PLACE")) {
        const char *space = strchr(word, ',');
        end = space != NULL ? strchr(space + 1, ',') : NULL;
        if (end == NULL || !is_digit(end[2]))
            return 0;
        char *bytes;
        strtoll(end += 2, &bytes, 10);
        *parameter = (cse_program_parameter){ .kind = CSE_PARAMETER_PLACE,
                                              .space = space_of(space + 2),
                                              .bytes = strtoll(bytes + 2, NULL, 10) };
    } else if (is(word, length, "kernels") && word[length] == '[') {
        end = word + length + 1;
    } else if (is(word, length, "CSE_TRACKED") || is(word, length, "CSE_STREAM")) {
        parameter->kind = word[4] == 'T' ? CSE_PARAMETER_TRACKED : CSE_PARAMETER_STREAM;
        end = word + length + 1;
    }
    return end != NULL && is_digit(*end) ? (size_t)(end - word) : 0;
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
    CSE_GROW(numbers->known, numbers->count, numbers->capacity);
    numbers->known[numbers->count] = node;
    return numbers->count++;
}

/* The end of a number, which may have a suffix. */
static const char *after_number(const char *at)
{
    while (is_digit(*at))
        at++;
    while (*at == 'l')
        at++;
    return at;
}

static void add_parameter(cse_sharer *sharer, const cse_program_parameter *parameter, int64_t value)
{
    cse_program *program = sharer->program;
    CSE_GROW(sharer->parameters, sharer->parameter_count, sharer->parameter_capacity);
    sharer->parameters[sharer->parameter_count++] = *parameter;
    CSE_GROW(program->values, program->value_count, program->value_capacity);
    program->values[program->value_count++] = value;
}

/* Writes the text without its numbers to sharer->text, and these to the program. */
static void take_numbers_out(cse_sharer *sharer, const cse_text *text, int group)
{
    numbering numbers = { 0 };
    const char *kept = text->data; /* what is kept as it is begins here */
    cse_text *out = &sharer->text;
    out->size = 0;
    sharer->parameter_count = 0;
    for (const char *at = text->data; *at != '\0';) {
        cse_program_parameter parameter;
        size_t length = word_length(at), before = 0;
        if (length == 0) {
            at++;
            continue;
        }
        int function = function_of(at, length, group);
        if ((before = before_number(at, length, &parameter)) > 0) {
            cse_text_add_bytes(out, kept, (size_t)(at + before - kept));
            add_parameter(sharer, &parameter, strtoll(at + before, NULL, 10));
            at = kept = after_number(at + before);
        } else if (function >= 0 || is_numbered(at, length)) {
            cse_text_add_bytes(out, kept, (size_t)(at - kept));
            cse_text_add_bytes(out, function >= 0 ? "$f" : at, function >= 0 ? 2 : 1);
            cse_text_add_bytes(out, "$", 1);
            cse_text_add_number(out, function >= 0 ? function : number_of(&numbers, atol(at + 1)));
            at = kept = at + length;
        } else {
            at += length;
        }
    }
    cse_text_add_bytes(out, kept, (size_t)(text->data + text->size - kept));
    free(numbers.known);
}

static uint64_t hash_of(const cse_text *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text->size; i++)
        hash = (hash ^ (unsigned char)text->data[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

cse_sharer *cse_sharer_new(cse_program *program, int group_count)
{
    cse_sharer *sharer = cse_calloc(1, sizeof *sharer);
    sharer->program = program;
    sharer->slot_count = 64;
    while (sharer->slot_count < 2 * group_count)
        sharer->slot_count *= 2;
    sharer->slots = cse_calloc((size_t)sharer->slot_count, sizeof *sharer->slots);
    program->functions_of = cse_calloc((size_t)group_count + 1, sizeof(int));
    program->first_values = cse_calloc((size_t)group_count + 1, sizeof(int));
    program->group_count = group_count;
    return sharer;
}

void cse_sharer_destroy(cse_sharer **sharer)
{
    for (int k = 0; k < (*sharer)->count; k++) {
        cse_text_clear(&(*sharer)->kinds[k].comment);
        cse_text_clear(&(*sharer)->kinds[k].functions);
        cse_text_clear(&(*sharer)->kinds[k].text);
    }
    cse_text_clear(&(*sharer)->text);
    free((*sharer)->parameters);
    free((*sharer)->kinds);
    free((*sharer)->slots);
    free(*sharer);
    *sharer = NULL;
}

/* Where a word begins a function's definition. */
static bool is_definition(const char *after_word)
{
    const char *next = after_word + (*after_word == '(');
    next += strspn(next, " \n");
    return strncmp(next, "const cse_step_frame", 20) == 0;
}

static int entries_of(const char *text, int group)
{
    int entries = 0;
    for (const char *at = text; *at != '\0';) {
        size_t length = word_length(at);
        int function = length > 0 ? function_of(at, length, group) : -1;
        if (function >= 0 && is_definition(at + length))
            entries |= functions[function].entry;
        at += length > 0 ? length : 1;
    }
    return entries;
}

static void add_kind(cse_sharer *sharer, int group, cse_text *text, uint64_t hash)
{
    cse_program *program = sharer->program;
    CSE_GROW(sharer->kinds, sharer->count, sharer->capacity);
    kind *made = &sharer->kinds[sharer->count++];
    *made = (kind){ .functions = *text, .text = sharer->text, .hash = hash, .group = group };
    *text = sharer->text = (cse_text){ 0 };
    CSE_GROW(program->functions, program->function_count, program->function_capacity);
    program->functions[program->function_count++] =
        (cse_program_function){ .entries = entries_of(made->functions.data, group),
                                .first = program->parameter_count,
                                .count = sharer->parameter_count };
    for (int p = 0; p < sharer->parameter_count; p++) {
        CSE_GROW(program->parameters, program->parameter_count, program->parameter_capacity);
        program->parameters[program->parameter_count++] = sharer->parameters[p];
    }
}

bool cse_sharer_add_take(cse_sharer *sharer, int group, cse_text *text)
{
    cse_program *program = sharer->program;
    program->first_values[group] = program->value_count;
    take_numbers_out(sharer, text, group);
    uint64_t hash = hash_of(&sharer->text), mask = (uint64_t)sharer->slot_count - 1;
    uint64_t slot = hash & mask;
    for (; sharer->slots[slot] != 0; slot = (slot + 1) & mask) {
        const kind *other = &sharer->kinds[sharer->slots[slot] - 1];
        if (other->hash == hash && other->text.size == sharer->text.size &&
            memcmp(other->text.data, sharer->text.data, sharer->text.size) == 0)
            break;
    }
    bool first = sharer->slots[slot] == 0;
    if (first) {
        add_kind(sharer, group, text, hash);
        sharer->slots[slot] = sharer->count;
    }
    program->functions_of[group] = sharer->slots[slot] - 1;
    sharer->kinds[sharer->slots[slot] - 1].uses++;
    return first;
}

void cse_sharer_comment_take(cse_sharer *sharer, cse_text *comment)
{
    sharer->kinds[sharer->count - 1].comment = *comment;
    *comment = (cse_text){ 0 };
}

/* ---- printing ---- */

static void print_name(int function, int number, cse_text *out)
{
    cse_text_add(out, "%s%d%s", functions[function].before, number, functions[function].after);
}

/* The functions of the first group of a kind, with parameters for the numbers that were removed. */
static void print_functions(const kind *k, int number, cse_text *out)
{
    int place = 0;
    for (const char *at = k->functions.data; *at != '\0';) {
        cse_program_parameter parameter;
        size_t length = word_length(at);
        size_t before = length > 0 ? before_number(at, length, &parameter) : 0;
        int function = length > 0 ? function_of(at, length, k->group) : -1;
        if (before > 0) {
            cse_text_add_bytes(out, at, before);
            cse_text_add(out, "places[%d]", place++);
            at = after_number(at + before);
        } else if (function >= 0) {
            print_name(function, number, out);
            cse_text_add(out, "(%s",
                         is_definition(at + length) ? "const int64_t *const places, " : "places, ");
            at += length + 1;
            at += strspn(at, " \n");
        } else {
            length = length > 0 ? length : 1;
            cse_text_add_bytes(out, at, length);
            at += length;
        }
    }
}

/* The type of the table's elements and the table. */
static void print_table(const cse_sharer *sharer, cse_text *out)
{
    static const char *const members[] = { "run", "run_statistics", "update", "propose" };
    cse_text_add(out, "/* Functions that a kind of groups does not have are 0. */\n"
                      "typedef struct cse_step_function {\n");
    for (int f = 0; functions[f].parameters != NULL; f++)
        cse_text_add(out, "    void (*%s)(const int64_t *places, %s);\n", members[f],
                     functions[f].parameters);
    cse_text_add(out, "} cse_step_function;\n\n"
                      "CSE_ENTRY const cse_step_function cse_step_functions[] = {\n");
    for (int k = 0; k < sharer->count; k++) {
        cse_text_add(out, "    {");
        for (int f = 0; functions[f].parameters != NULL; f++) {
            cse_text_add(out, f > 0 ? ", " : " ");
            if (sharer->program->functions[k].entries & functions[f].entry)
                print_name(f, k, out);
            else
                cse_text_add(out, "0");
        }
        cse_text_add(out, " },\n");
    }
    cse_text_add(out,
                 "    { 0, 0, 0, 0 }\n};\nCSE_ENTRY const int cse_step_function_count = %d;\n\n",
                 sharer->count);
}

void cse_sharer_print(const cse_sharer *sharer, cse_text *out)
{
    for (int k = 0; k < sharer->count; k++) {
        cse_text_add_bytes(out, sharer->kinds[k].comment.data, sharer->kinds[k].comment.size);
        print_functions(&sharer->kinds[k], k, out);
    }
    print_table(sharer, out);
}
