/* Items of a list that are a dash alone. YAML says that they are null (chapter 8.2.1), and libfyaml
 * 0.7 so where the list is indented more than the key that it belongs to; where it is not,
 *
 *   layers_activation:
 *   - gelu
 *   -
 *   use_bias: true
 *
 * it refuses what stands behind the item. Such text is read with the null written out. */
#ifndef CSE_CONFIG_YAML_BARE_ITEMS_H
#define CSE_CONFIG_YAML_BARE_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/text.h"

/* Where the parser failed in line `line`, counted from 1, of the text: if the last line before it
 * that is neither blank nor a comment is a dash alone, adds the text with a null behind that dash
 * to `repaired` and returns true. No other line changes. */
bool cse_yaml_fill_bare_item(const char *text, size_t size, int line, cse_text *repaired);

#endif
