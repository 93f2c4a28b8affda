/* Values are compared as they are written: both configurations were completed by one table. */
#include "run/travel/settings_differences.h"

#include <string.h>

#include "engine/base/config/settings.h"
#include "engine/base/config/yaml.h"
#include "engine/base/text.h"
#include "store/reader.h"

static const char *name_of(const char *path)
{
    static const char prefix[] = "trainer.";
    return strncmp(path, prefix, sizeof prefix - 1) == 0 ? path + sizeof prefix - 1 : path;
}

static cse_status read_values(cse_arena *arena, const char *model_dir, cse_yaml_unread **values,
                              int *count)
{
    cse_store_reader *reader = NULL;
    cse_text yaml = { 0 };
    cse_yaml_node *root = NULL;
    char type[64];
    *count = 0;
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    cse_status status = CSE_OK;
    if (cse_store_reader_artefact(reader, "config.yaml", &yaml, type, sizeof type) == CSE_OK)
        status = cse_yaml_parse(arena, model_dir, yaml.data, yaml.size, &root);
    cse_store_reader_close(&reader);
    cse_text_clear(&yaml);
    if (status == CSE_OK && root != NULL)
        *count = cse_yaml_list_values(arena, root, values);
    return status;
}

static const char *text_of(cse_arena *arena, const cse_yaml_node *node)
{
    cse_text text = { 0 };
    cse_yaml_print(node, &text);
    const char *copy = cse_arena_string(arena, text.data != NULL ? text.data : "");
    cse_text_clear(&text);
    return copy;
}

cse_status cse_settings_differences(cse_arena *arena, const char *const model_dirs[2],
                                    cse_setting_difference **differences, int *count)
{
    cse_yaml_unread *values[2] = { NULL, NULL };
    int counts[2] = { 0, 0 };
    *count = 0;
    for (int r = 0; r < 2; r++)
        CSE_TRY(read_values(arena, model_dirs[r], &values[r], &counts[r]));
    *differences =
        cse_arena_alloc(arena, ((size_t)counts[0] + (size_t)counts[1] + 1) * sizeof **differences);
    for (int r = 0; r < 2 && counts[0] > 0 && counts[1] > 0; r++)
        for (int i = 0; i < counts[r]; i++) {
            const char *path = values[r][i].path;
            const cse_yaml_node *other = cse_yaml_listed(values[1 - r], counts[1 - r], path);
            if (!cse_setting_changes_bits(path) || (r == 1 && other != NULL))
                continue;
            cse_setting_difference d = { .path = name_of(path) };
            d.values[r] = text_of(arena, values[r][i].node);
            d.values[1 - r] = other != NULL ? text_of(arena, other) : NULL;
            if (other == NULL || strcmp(d.values[0], d.values[1]) != 0)
                (*differences)[(*count)++] = d;
        }
    return CSE_OK;
}
