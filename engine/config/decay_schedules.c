/* ConstantWD is ConstantLR with other words. */
#include "engine/config/decay_schedules.h"

#include <string.h>
#include <strings.h>

static const char *const words[][2] = {
    { "val", "learning_rate" },
    { "vals", "learning_rates" },
    { "initial_val", "initial_learning_rate" },
    { "end_val", "end_learning_rate" },
    { "base_val", "base_lr" },
    { "max_val", "max_lr" },
};

bool cse_is_decay_schedule(const char *name)
{
    size_t length = strlen(name);
    return length > 2 && strcasecmp(name + length - 2, "WD") == 0;
}

static const char *word_of(const char *word)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], word) == 0)
            return words[i][1];
    return word;
}

void cse_decay_schedule_rename(cse_arena *arena, const char **name, cse_yaml_node **settings)
{
    const cse_yaml_node *given = *settings;
    if (!cse_is_decay_schedule(*name))
        return;
    *name = cse_arena_printf(arena, "%.*sLR", (int)strlen(*name) - 2, *name);
    if (given->kind != CSE_YAML_MAPPING)
        return;
    *settings = cse_yaml_mapping_new(arena, given->place);
    for (int i = 0; i < given->count; i++) {
        cse_yaml_key key = given->keys[i];
        key.text = word_of(key.text);
        cse_yaml_put(arena, *settings, key, given->children[i]);
    }
}
