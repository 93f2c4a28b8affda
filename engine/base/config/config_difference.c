/* Both configurations become lists of paths with values. */
#include "engine/base/config/config_difference.h"

#include <string.h>

#include "engine/base/config/yaml.h"
#include "engine/base/text.h"

static const cse_yaml_node *find(const cse_yaml_unread *values, int count, const char *path)
{
    for (int i = 0; i < count; i++)
        if (strcmp(values[i].path, path) == 0)
            return values[i].node;
    return NULL;
}

static const char *text_of(cse_arena *arena, const cse_yaml_node *node)
{
    cse_text text = { 0 };
    if (node == NULL)
        return NULL;
    cse_yaml_print(node, &text);
    const char *copy = cse_arena_string(arena, text.data != NULL ? text.data : "");
    cse_text_clear(&text);
    return copy;
}

cse_status cse_config_difference(cse_arena *arena, const char *const yaml[2],
                                 cse_setting_difference **differences, int *count)
{
    cse_yaml_unread *values[2] = { NULL, NULL };
    int counts[2] = { 0, 0 };
    *count = 0;
    *differences = NULL;
    if (yaml[0] == NULL || yaml[1] == NULL || strcmp(yaml[0], yaml[1]) == 0)
        return CSE_OK;
    for (int c = 0; c < 2; c++) {
        cse_yaml_node *root = NULL;
        CSE_TRY(cse_yaml_parse(arena, "configuration", yaml[c], strlen(yaml[c]), &root));
        counts[c] = root != NULL ? cse_yaml_list_values(arena, root, &values[c]) : 0;
    }
    *differences =
        cse_arena_alloc(arena, ((size_t)counts[0] + (size_t)counts[1] + 1) * sizeof **differences);
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < counts[c]; i++) {
            const char *path = values[c][i].path;
            const cse_yaml_node *other = find(values[1 - c], counts[1 - c], path);
            if (c == 1 && other != NULL)
                continue;
            cse_setting_difference d = { .path = path };
            d.values[c] = text_of(arena, values[c][i].node);
            d.values[1 - c] = text_of(arena, other);
            if (other == NULL || strcmp(d.values[0], d.values[1]) != 0)
                (*differences)[(*count)++] = d;
        }
    return CSE_OK;
}
