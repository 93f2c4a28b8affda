/* Trees as one line of flow YAML, and the comment that keeps the places of their values.
 *
 * The comment is " #origins " followed by one item for each key and node in the order they are
 * printed: "line:column", preceded by a quoted source whenever it changes. It is a comment to
 * every other reader of YAML. */
#include "engine/config/yaml_origins.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char origins_mark[] = " #origins ";

/* Whether a scalar can be written without quotes and is read back as text. */
static bool is_plain_word(const char *scalar)
{
    static const char accepted[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_-./+=";
    size_t length = strlen(scalar);
    return length > 0 && strspn(scalar, accepted) == length && scalar[0] != '-' &&
           scalar[0] != '.' && scalar[0] != '=';
}

static void print_quoted(const char *scalar, cse_text *text)
{
    cse_text_add_bytes(text, "\"", 1);
    for (const char *c = scalar; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            cse_text_add(text, "\\%c", *c);
        else if (*c == '\n')
            cse_text_add(text, "\\n");
        else if ((unsigned char)*c < 0x20 || *c == 0x7F)
            cse_text_add(text, "\\x%02x", (unsigned char)*c);
        else
            cse_text_add_bytes(text, c, 1);
    }
    cse_text_add_bytes(text, "\"", 1);
}

/* A word that a reader of YAML takes for something else than text. */
static bool reads_as_other(const char *scalar)
{
    static const char *const words[] = { "true", "True", "TRUE", "false", "False", "FALSE", "null",
                                         "Null", "NULL", "yes",  "no",    "on",    "off",   "Yes",
                                         "No",   "On",   "Off",  "YES",   "NO",    "ON",    "OFF" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(scalar, words[i]) == 0)
            return true;
    return strchr("0123456789+", scalar[0]) != NULL;
}

void cse_yaml_print_text(const char *scalar, cse_text *text)
{
    if (is_plain_word(scalar) && !reads_as_other(scalar))
        cse_text_add(text, "%s", scalar);
    else
        print_quoted(scalar, text);
}

static void print_scalar(const cse_yaml_node *node, cse_text *text)
{
    if (node->quoted)
        cse_yaml_print_text(node->text, text);
    else if (cse_yaml_is_null(node))
        cse_text_add(text, "null");
    else if (strpbrk(node->text, "{}[],:#&*!|>'\"%@`?\\\n\t") == NULL)
        cse_text_add(text, "%s", node->text);
    else
        print_quoted(node->text, text);
}

void cse_yaml_print(const cse_yaml_node *node, cse_text *text)
{
    if (node->kind == CSE_YAML_SCALAR) {
        print_scalar(node, text);
        return;
    }
    bool mapping = node->kind == CSE_YAML_MAPPING;
    cse_text_add(text, mapping ? "{" : "[");
    for (int i = 0; i < node->count; i++) {
        if (i > 0)
            cse_text_add(text, ", ");
        if (mapping) {
            cse_yaml_print_text(node->keys[i].text, text);
            cse_text_add(text, ": ");
        }
        cse_yaml_print(node->children[i], text);
    }
    cse_text_add(text, mapping ? "}" : "]");
}

static void print_place(cse_yaml_place place, const char **source, cse_text *text)
{
    const char *named = place.source != NULL ? place.source : "";
    if (*source == NULL || strcmp(named, *source) != 0) {
        cse_text_add(text, "\"");
        /* The source stands in a comment: it must not end the line or the quotes. */
        for (const char *c = named; *c != '\0'; c++)
            cse_text_add(text, "%c", *c == '"' || (unsigned char)*c < 0x20 ? '?' : *c);
        cse_text_add(text, "\" ");
        *source = named;
    }
    cse_text_add(text, "%d:%d ", place.line, place.column);
}

static void print_places(const cse_yaml_node *node, const char **source, cse_text *text)
{
    print_place(node->place, source, text);
    for (int i = 0; i < node->count; i++) {
        if (node->kind == CSE_YAML_MAPPING)
            print_place(node->keys[i].place, source, text);
        print_places(node->children[i], source, text);
    }
}

void cse_yaml_print_with_origins(const cse_yaml_node *node, cse_text *text)
{
    const char *source = NULL;
    cse_yaml_print(node, text);
    cse_text_add(text, "%s", origins_mark);
    print_places(node, &source, text);
}

/* Position in the comment that is being read. */
typedef struct places {
    cse_arena *arena;
    const char *at, *end;
    const char *source;
} places;

static bool read_number(places *p, char after, int *number)
{
    long value = 0;
    const char *begin = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9' && value < INT_MAX / 10)
        value = value * 10 + (*p->at++ - '0');
    if (p->at == begin || p->at == p->end || *p->at != after)
        return false;
    p->at++;
    *number = (int)value;
    return true;
}

static bool read_place(places *p, cse_yaml_place *place)
{
    if (p->at < p->end && *p->at == '"') {
        const char *begin = ++p->at;
        while (p->at < p->end && *p->at != '"')
            p->at++;
        if (p->end - p->at < 2)
            return false;
        p->source = cse_arena_printf(p->arena, "%.*s", (int)(p->at - begin), begin);
        p->at += 2;
    }
    cse_yaml_place read = { .source = p->source };
    if (!read_number(p, ':', &read.line) || !read_number(p, ' ', &read.column))
        return false;
    if (place != NULL)
        *place = read;
    return true;
}

/* With `apply` false only looks whether the comment fits. */
static bool read_places(places *p, cse_yaml_node *node, bool apply)
{
    if (!read_place(p, apply ? &node->place : NULL))
        return false;
    for (int i = 0; i < node->count; i++) {
        if (node->kind == CSE_YAML_MAPPING && !read_place(p, apply ? &node->keys[i].place : NULL))
            return false;
        if (!read_places(p, node->children[i], apply))
            return false;
    }
    return true;
}

void cse_yaml_restore_origins(cse_arena *arena, const char *text, size_t size, cse_yaml_node *root)
{
    const size_t mark = sizeof origins_mark - 1;
    const char *line = memrchr(text, '\n', size);
    size_t begin = line != NULL ? (size_t)(line - text) : 0;
    const char *found = memmem(text + begin, size - begin, origins_mark, mark);
    for (const char *next = found; next != NULL;) {
        found = next;
        next = memmem(found + mark, (size_t)(text + size - found) - mark, origins_mark, mark);
    }
    if (found == NULL)
        return;
    places p = { .arena = arena, .at = found + mark, .end = text + size, .source = "" };
    places again = p;
    if (!read_places(&p, root, false) || p.at != p.end)
        return;
    again.arena = p.arena;
    read_places(&again, root, true);
}
