/* Facts that another program keeps as a weight: a list of numbers (form: elements). The weight's
 * name is theirs, and the list is among their facts as long as those are at work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/map_values.h"

enum { MOST_NUMBERS = 1 << 16 };

static bool is_elements(const cse_map_fact *fact)
{
    return cse_map_has_form(fact, "elements");
}

/* The shortest decimals that are this float. */
static json_t *number_of(float value)
{
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    return json_real(strtod(text, NULL));
}

static cse_status note_numbers(cse_weights *weights, int index, json_t *facts)
{
    const cse_weight *weight = &weights->list[index];
    const int64_t count = weight->shape.rank == 1 ? weight->shape.dims[0] : -1;
    json_t *list = json_array();
    if (count < 1 || count > MOST_NUMBERS || !cse_element_is_float(weight->element)) {
        json_decref(list);
        return cse_fail(CSE_DATA, "%s: '%s' must be a list of 1 to %d numbers", weights->path,
                        weight->name, MOST_NUMBERS);
    }
    float *values = cse_malloc((size_t)count * sizeof *values);
    cse_status status = cse_weights_read_as(weights, index, CSE_ELEMENT_F32, values);
    for (int64_t i = 0; i < count && status == CSE_OK; i++)
        json_array_append_new(list, number_of(values[i]));
    free(values);
    json_object_set_new(facts, weight->name, list);
    return status;
}

/* What a fact is where it is not given, but a weight is there. */
static void note_implied(const cse_map_fact *fact, const cse_weights *weights, json_t *facts)
{
    for (int i = 0; fact->implied != NULL && i < fact->implied->count; i++)
        if (json_object_get(facts, fact->theirs[0]) == NULL &&
            cse_weights_find(weights, fact->implied->keys[i].text) >= 0)
            json_object_set_new(facts, fact->theirs[0],
                                json_string(fact->implied->children[i]->text));
}

cse_status cse_map_note_elements(const cse_map *map, cse_weights *weights, json_t *facts)
{
    for (int i = 0; i < map->fact_count; i++) {
        const int found =
            is_elements(&map->facts[i]) ? cse_weights_find(weights, map->facts[i].theirs[0]) : -1;
        note_implied(&map->facts[i], weights, facts);
        if (found >= 0)
            CSE_TRY(note_numbers(weights, found, facts));
    }
    return CSE_OK;
}

bool cse_map_is_numbers(const cse_map *map, const char *name)
{
    bool found = false;
    for (int i = 0; i < map->fact_count && !found; i++)
        found = is_elements(&map->facts[i]) && strcmp(map->facts[i].theirs[0], name) == 0;
    return found;
}

cse_status cse_map_make_numbers(const cse_map *map, const cse_map_fact *fact, cse_arena *arena,
                                const json_t *facts, cse_map_numbers *numbers)
{
    const json_t *list = is_elements(fact) ? json_object_get(facts, fact->theirs[0]) : NULL;
    const size_t count = json_array_size(list);
    *numbers = (cse_map_numbers){ .list = NULL };
    if (list == NULL)
        return CSE_OK;
    if (count < 1 || count > MOST_NUMBERS)
        return cse_fail(CSE_DATA, "%s of the model must have 1 to %d numbers (%s)", fact->ours[0],
                        MOST_NUMBERS, map->source);
    numbers->list = cse_arena_alloc(arena, count * sizeof *numbers->list);
    numbers->count = (int64_t)count;
    for (size_t i = 0; i < count; i++)
        numbers->list[i] = (float)json_number_value(json_array_get(list, i));
    return CSE_OK;
}

void cse_map_forget_elements(const cse_map *map, json_t *facts)
{
    for (int i = 0; i < map->fact_count; i++)
        if (is_elements(&map->facts[i]) || cse_map_has_form(&map->facts[i], "missing_weight"))
            json_object_del(facts, map->facts[i].theirs[0]);
}

cse_status cse_map_same_elements(cse_weights *weights, int one, int other, bool *same)
{
    enum { BLOCK_BYTES = 1 << 20 };
    const cse_weight *first = &weights->list[one], *second = &weights->list[other];
    const uint64_t bytes = cse_weight_bytes(first);
    unsigned char *blocks = cse_malloc(2 * BLOCK_BYTES);
    bool equal = first->element == second->element && bytes == cse_weight_bytes(second);
    cse_status status = CSE_OK;
    for (uint64_t done = 0; done < bytes && equal && status == CSE_OK; done += BLOCK_BYTES) {
        const size_t some = bytes - done < BLOCK_BYTES ? (size_t)(bytes - done) : BLOCK_BYTES;
        status = cse_weights_read(weights, one, done, some, blocks);
        if (status == CSE_OK)
            status = cse_weights_read(weights, other, done, some, blocks + BLOCK_BYTES);
        equal = memcmp(blocks, blocks + BLOCK_BYTES, some) == 0;
    }
    free(blocks);
    *same = equal;
    return status;
}
