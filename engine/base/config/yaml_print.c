/* Trees as text: one line of flow YAML, or block YAML with one key a line, two spaces a level, and
 * lists of scalars on their line. */
#include <string.h>

#include "engine/base/config/yaml.h"

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

/* A word that YAML reads as something else than text. */
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

/* ---- blocks ---- */

/* What is printed on one line: scalars, and collections without further mappings in them. */
static bool is_flat(const cse_yaml_node *node)
{
    if (node->kind == CSE_YAML_SCALAR || node->count == 0)
        return true;
    for (int i = 0; i < node->count; i++)
        if (node->children[i]->kind != CSE_YAML_SCALAR)
            return false;
    return node->kind == CSE_YAML_SEQUENCE;
}

static void print_node(const cse_yaml_node *node, int indent, bool begun, cse_text *text)
{
    const bool mapping = node->kind == CSE_YAML_MAPPING;
    for (int i = 0; i < node->count; i++) {
        const cse_yaml_node *child = node->children[i];
        if (i > 0 || !begun)
            cse_text_add(text, "%*s", indent, "");
        if (mapping) {
            cse_yaml_print_text(node->keys[i].text, text);
            cse_text_add(text, ":");
        } else {
            cse_text_add(text, "-");
        }
        /* The entries of a list begin on the line of their dash. */
        const bool beside = is_flat(child) || !mapping;
        cse_text_add(text, beside ? " " : "\n");
        if (is_flat(child)) {
            cse_yaml_print(child, text);
            cse_text_add(text, "\n");
        } else {
            print_node(child, indent + 2, beside, text);
        }
    }
}

void cse_yaml_print_block(const cse_yaml_node *node, cse_text *text)
{
    if (is_flat(node)) {
        cse_yaml_print(node, text);
        cse_text_add(text, "\n");
    } else {
        print_node(node, 0, false, text);
    }
}
