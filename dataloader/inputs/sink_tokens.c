/* Settings and the move of values. */
#include "dataloader/inputs/sink_tokens.h"

#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/config/settings.h"

static const cse_setting table[] = {
    { .name = "name",
      .type = CSE_SETTING_CHOICE,
      .choices = "add_sink_tokens",
      .doc = "which transform it is" },
    { .name = "sink_token_id",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .max = INT32_MAX,
      .doc = "the token that is put in" },
    { .name = "num_sink_tokens",
      .type = CSE_SETTING_INTEGER,
      .default_value = "1",
      .min = 1,
      .max = 1 << 20,
      .doc = "how many" },
    { .name = "sink_token_start_pos",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .max = 1 << 24,
      .doc = "before which token of the sample" },
    { .name = "truncate_to_original_length",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "the last tokens make room for them" },
    { .name = "use_vsl",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "whether samples hold several sequences, which is not supported" },
    { 0 },
};

static cse_status refuse(const cse_settings *settings, const char *what)
{
    return cse_fail(CSE_CONFIG, "data loader: %s: data_transforms %s",
                    cse_settings_origin(settings, "data_transforms"), what);
}

static cse_status read_entry(const cse_settings *settings, cse_yaml_node *entry,
                             cse_sink_tokens *sinks)
{
    cse_settings *read = NULL;
    cse_arena *arena = cse_arena_new();
    const cse_settings_expected expected = { .table = table, .subject = "data_transforms" };
    cse_status status = cse_settings_check(arena, &expected, entry, &read);
    if (status == CSE_OK && cse_settings_bool(read, "use_vsl"))
        status = refuse(settings, "add_sink_tokens has use_vsl: true; accepted is false");
    if (status == CSE_OK)
        *sinks = (cse_sink_tokens){ .count = cse_settings_integer(read, "num_sink_tokens"),
                                    .place = cse_settings_integer(read, "sink_token_start_pos"),
                                    .token = (int32_t)cse_settings_integer(read, "sink_token_id"),
                                    .truncates =
                                        cse_settings_bool(read, "truncate_to_original_length") };
    if (status == CSE_OK)
        cse_settings_text(read, "name");
    cse_arena_destroy(&arena);
    return status;
}

cse_status cse_sink_tokens_read(const cse_settings *settings, cse_sink_tokens *sinks)
{
    *sinks = (cse_sink_tokens){ .count = 0 };
    if (!cse_settings_has(settings, "data_transforms"))
        return CSE_OK;
    cse_yaml_node *list = cse_yaml_find(settings->node, "data_transforms");
    if (list == NULL || list->kind != CSE_YAML_SEQUENCE || list->count > 1)
        return refuse(settings, "is no list of at most one transform");
    list->read = true;
    return list->count == 1 ? read_entry(settings, list->children[0], sinks) : CSE_OK;
}

int64_t cse_sink_tokens_length(const cse_sink_tokens *sinks, int64_t time)
{
    return sinks->truncates ? time : time + sinks->count;
}

void cse_sink_tokens_put(const cse_sink_tokens *sinks, int64_t time, int32_t value, int32_t *to)
{
    const int64_t length = cse_sink_tokens_length(sinks, time);
    const int64_t end = sinks->place + sinks->count < length ? sinks->place + sinks->count : length;
    if (sinks->count == 0)
        return;
    memmove(to + end, to + sinks->place, (size_t)(length - end) * sizeof *to);
    for (int64_t t = sinks->place; t < end; t++)
        to[t] = value;
}
