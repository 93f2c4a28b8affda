/* ConstantWD and ConstantMomentum are ConstantLR with other words. */
#include "engine/base/config/decay_schedules.h"

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

static const char *const ends[CSE_SCHEDULED_COUNT] = {
    [CSE_SCHEDULED_RATE] = "", [CSE_SCHEDULED_DECAY] = "WD", [CSE_SCHEDULED_MOMENTUM] = "Momentum"
};

cse_scheduled cse_scheduled_by(const char *name)
{
    const size_t length = strlen(name);
    for (int what = CSE_SCHEDULED_COUNT - 1; what > CSE_SCHEDULED_RATE; what--) {
        const size_t end = strlen(ends[what]);
        if (length > end && strcasecmp(name + length - end, ends[what]) == 0)
            return (cse_scheduled)what;
    }
    return CSE_SCHEDULED_RATE;
}

/* Schedules of the learning rate whose names do not end with LR. */
static const char *const whole_names[][2] = {
    { "CosineAnnealingWarmRestarts", "CosineAnnealingWarmRestarts" },
    { "Chained", "ChainedScheduler" },
    { "ChainedScheduler", "ChainedScheduler" },
};

static const char *rate_name(cse_arena *arena, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof whole_names / sizeof whole_names[0]; i++)
        if (strlen(whole_names[i][0]) == length &&
            strncasecmp(whole_names[i][0], name, length) == 0)
            return whole_names[i][1];
    return cse_arena_printf(arena, "%.*sLR", (int)length, name);
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
    const cse_scheduled what = cse_scheduled_by(*name);
    if (what == CSE_SCHEDULED_RATE)
        return;
    *name = rate_name(arena, *name, strlen(*name) - strlen(ends[what]));
    if (given->kind != CSE_YAML_MAPPING)
        return;
    *settings = cse_yaml_mapping_new(arena, given->place);
    for (int i = 0; i < given->count; i++) {
        cse_yaml_key key = given->keys[i];
        key.text = word_of(key.text);
        cse_yaml_put(arena, *settings, key, given->children[i]);
    }
}
