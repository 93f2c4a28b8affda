/* GPT-Neo's kinds of attention, a list of [[kinds], times]: whether every other layer, the second
 * one first, has a window. */
#include <string.h>

#include "engine/formats/weights/map.h"

static bool is_kind(const json_t *kinds, size_t index, const char *name)
{
    const char *text = json_string_value(json_array_get(kinds, index));
    return text != NULL && strcmp(text, name) == 0;
}

const char *cse_map_every_other(const json_t *value)
{
    size_t i;
    const json_t *entry;
    int windows = 0, plain = 0, others = 0;
    json_array_foreach(value, i, entry)
    {
        const json_t *kinds = json_array_get(entry, 0);
        const bool is_global = is_kind(kinds, 0, "global");
        if (is_global && json_array_size(kinds) == 2 && is_kind(kinds, 1, "local"))
            windows++;
        else if (is_global && json_array_size(kinds) == 1)
            plain++;
        else
            others++;
    }
    if (others > 0 || (windows > 0) == (plain > 0))
        return NULL;
    return windows > 0 ? "true" : "false";
}

json_t *cse_map_every_other_list(bool every_other, int64_t layers)
{
    if (!every_other)
        return json_pack("[[[s], I]]", "global", (json_int_t)layers);
    return layers % 2 == 0 ? json_pack("[[[s, s], I]]", "global", "local", (json_int_t)(layers / 2))
                           : NULL;
}
