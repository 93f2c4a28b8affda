/* Trees as block YAML, for files that people go on editing: mappings one key a line, two spaces a
 * level; lists of scalars stay on their line. */
#include <string.h>

#include "engine/config/yaml.h"

/* What reads better on one line: scalars, and collections without further mappings in them. */
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
        /* The entries of a list begin beside their dash. */
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
