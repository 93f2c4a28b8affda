/* The section `states`: weights, optimizer states and sums of gradients in memory or in a file, and
 * cut over hosts or not. */
#include "engine/base/config/states_settings.h"

#include <string.h>

#include "engine/base/config/settings.h"

const cse_setting cse_states_setting_table[] = {
    { "keep_in", CSE_SETTING_CHOICE, "memory", 0, 0, "memory|file",
      "weights, optimizer states and sums of gradients are in memory, or in a file that is read "
      "ahead and written behind in the order of the step; the result is the same",
      NULL },
    { "directory", CSE_SETTING_PATH, "null", 0, 0, NULL,
      "with keep_in: file: an existing directory on a disk, where the file is made; it has no name "
      "and is gone with the run",
      NULL },
    { "memory", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "with keep_in: file: the most of the file that is in memory, as 3GiB or 600MiB, over all "
      "processes",
      NULL },
    { "schedule", CSE_SETTING_CHOICE, "auto", 0, 0, "auto|layers|microbatches",
      "with keep_in: file: all microbatches of a replica go through a layer before the next, which "
      "reads weights once a step and keeps more values of microbatches in memory, or one "
      "microbatch after the other; auto: by layers where memory_limit, or else half of this host's "
      "memory, has room; the result is the same",
      NULL },
    { "shard", CSE_SETTING_CHOICE, "none", 0, 0, "none|optimizer|gradients",
      "on several hosts: optimizer: each host has its part of the optimizer's states and updates "
      "that part of the weights, which it sends to the others; gradients: and has the other hosts' "
      "sums of gradients for that part alone; the result is the same",
      NULL },
    { "shard_copies", CSE_SETTING_INTEGER, "1", 1, 2, NULL,
      "with shard: the hosts that have each part; with 1 a run that loses a host goes on from its "
      "last checkpoint, with 2 from where it is",
      NULL },
    { 0 },
};

bool cse_byte_count_read(const char *text, int64_t *bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    const int64_t most = INT64_C(1) << 60;
    int64_t count = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        count = count * 10 + (*at - '0');
        if (count > most)
            return false;
    }
    if (at == text)
        return false;
    at += strspn(at, " ");
    for (int u = 0; u < (int)(sizeof units / sizeof units[0]); u++) {
        if (strcmp(at, units[u]) != 0 && !(u == 0 && *at == '\0'))
            continue;
        if (count > most >> (10 * u))
            return false;
        *bytes = count << (10 * u);
        return true;
    }
    return false;
}

static cse_error at(const cse_settings *settings, const char *name)
{
    return (cse_error){ .status = CSE_CONFIG,
                        .context = "configuration: ",
                        .place = cse_settings_place(settings, name) };
}

static cse_status read_shards(const cse_settings *settings, bool in_file, cse_states_place *place)
{
    const char *what = cse_settings_text(settings, "shard");
    const bool is_cut = strcmp(what, "none") != 0;
    const cse_error copies = at(settings, "shard_copies"), shard = at(settings, "shard");
    if (!is_cut && cse_settings_integer(settings, "shard_copies") != 1)
        return cse_fail_at(&copies, "states.shard_copies has no effect without shard: optimizer or "
                                    "gradients");
    if (is_cut && in_file)
        return cse_fail_at(&shard,
                           "states.shard: %s and keep_in: file do not go together: "
                           "leave one of the two out",
                           what);
    place->cuts_gradients = strcmp(what, "gradients") == 0;
    place->copies = is_cut ? (int)cse_settings_integer(settings, "shard_copies") : 0;
    return CSE_OK;
}

cse_status cse_states_place_read(const cse_settings *settings, cse_states_place *place)
{
    *place = (cse_states_place){ .directory = NULL };
    if (settings == NULL)
        return CSE_OK;
    const bool in_file = strcmp(cse_settings_text(settings, "keep_in"), "file") == 0;
    static const char *const names[] = { "directory", "memory", "schedule" };
    const char *schedule = cse_settings_text(settings, "schedule");
    for (int i = 0; i < 3; i++) {
        const cse_error error =
            at(settings, cse_settings_has(settings, names[i]) ? names[i] : "keep_in");
        const bool is_default = i == 2 && strcmp(schedule, "auto") == 0;
        if (is_default)
            continue;
        if (in_file && !cse_settings_has(settings, names[i]))
            return cse_fail_at(&error, "states.%s is missing: keep_in: file needs it", names[i]);
        if (!in_file && cse_settings_has(settings, names[i]))
            return cse_fail_at(&error, "states.%s has no effect without keep_in: file", names[i]);
    }
    CSE_TRY(read_shards(settings, in_file, place));
    if (!in_file)
        return CSE_OK;
    const char *memory = cse_settings_text(settings, "memory");
    const cse_error error = at(settings, "memory");
    if (!cse_byte_count_read(memory, &place->memory_bytes) || place->memory_bytes == 0)
        return cse_fail_at(&error,
                           "states.memory is \"%s\"; accepted: a number of bytes above 0, as 3GiB, "
                           "600MiB, 512KiB or 1073741824",
                           memory);
    place->directory = cse_settings_text(settings, "directory");
    place->schedule = strcmp(schedule, "layers") == 0         ? CSE_STATES_BY_LAYERS
                      : strcmp(schedule, "microbatches") == 0 ? CSE_STATES_BY_MICROBATCHES
                                                              : CSE_STATES_BY_ROOM;
    return CSE_OK;
}
