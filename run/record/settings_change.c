/* A few of them, each cut short: the message stands in a list. */
#include "run/record/settings_change.h"

#include <string.h>

#include "engine/base/config/config_difference.h"
#include "store/reader.h"

enum { MOST_NAMED = 6, LONGEST_VALUE = 60 };

static void add_value(const char *value, cse_text *message)
{
    const size_t length = value != NULL ? strlen(value) : 0;
    cse_text_add(message, "%.*s%s", LONGEST_VALUE, value != NULL ? value : "none",
                 length > LONGEST_VALUE ? "..." : "");
}

static void add_difference(const cse_setting_difference *d, bool first, cse_text *message)
{
    cse_text_add(message, "%s%s: ", first ? "settings changed: " : "; ", d->path);
    add_value(d->values[0], message);
    cse_text_add(message, " -> ");
    add_value(d->values[1], message);
}

void cse_settings_change(const char *model_dir, const char *resolved, cse_text *message)
{
    cse_store_reader *reader = NULL;
    cse_text before = { 0 };
    cse_setting_difference *list = NULL;
    int count = 0;
    if (resolved == NULL || cse_store_reader_open(model_dir, &reader) != CSE_OK)
        return;
    cse_arena *arena = cse_arena_new();
    if (cse_store_reader_artefact(reader, "config.yaml", &before, NULL, 0) == CSE_OK)
        cse_config_difference(arena, (const char *const[2]){ before.data, resolved }, &list,
                              &count);
    for (int i = 0; i < count && i < MOST_NAMED; i++)
        add_difference(&list[i], i == 0, message);
    if (count > MOST_NAMED)
        cse_text_add(message, "; and %d more", count - MOST_NAMED);
    cse_arena_destroy(&arena);
    cse_text_clear(&before);
    cse_store_reader_close(&reader);
}
