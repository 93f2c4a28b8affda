/* Of each run the configuration of its last start. */
#include "run/travel/settings_differences.h"

#include <string.h>

#include "engine/base/config/settings.h"
#include "engine/base/text.h"
#include "store/reader.h"

static const char *name_of(const char *path)
{
    static const char prefix[] = "trainer.";
    return strncmp(path, prefix, sizeof prefix - 1) == 0 ? path + sizeof prefix - 1 : path;
}

/* NULL: the run keeps no configuration. */
static cse_status read_yaml(cse_arena *arena, const char *model_dir, const char **found)
{
    cse_store_reader *reader = NULL;
    cse_text yaml = { 0 };
    *found = NULL;
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    if (cse_store_reader_artefact(reader, "config.yaml", &yaml, NULL, 0) == CSE_OK &&
        yaml.data != NULL)
        *found = cse_arena_string(arena, yaml.data);
    cse_store_reader_close(&reader);
    cse_text_clear(&yaml);
    return CSE_OK;
}

cse_status cse_settings_differences(cse_arena *arena, const char *const model_dirs[2],
                                    cse_setting_difference **differences, int *count)
{
    const char *yaml[2];
    int all = 0;
    *count = 0;
    for (int r = 0; r < 2; r++)
        CSE_TRY(read_yaml(arena, model_dirs[r], &yaml[r]));
    CSE_TRY(cse_config_difference(arena, yaml, differences, &all));
    for (int i = 0; i < all; i++) {
        cse_setting_difference d = (*differences)[i];
        if (!cse_setting_changes_bits(d.path))
            continue;
        d.path = name_of(d.path);
        (*differences)[(*count)++] = d;
    }
    return CSE_OK;
}
