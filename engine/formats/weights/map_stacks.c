/* The matrices that a map stacks are one weight here, with one type of elements; a folder may hold
 * some of them as bfloat16 and others as float32. */
#include <fnmatch.h>

#include "engine/base/arena.h"
#include "engine/formats/weights/map.h"

/* Marks the weights of the rule where their types of floats differ; returns how many. */
static int mark_mixed(const cse_map_rule *rule, const cse_weights *weights, bool *marked)
{
    int first = -1, count = 0;
    bool differ = false;
    const char *pattern = cse_arena_printf(weights->arena, "*%s", rule->theirs);
    for (int i = 0; i < weights->count; i++) {
        if (!cse_element_is_float(weights->list[i].element) ||
            fnmatch(pattern, weights->list[i].name, 0) != 0)
            continue;
        first = first < 0 ? i : first;
        differ |= weights->list[i].element != weights->list[first].element;
    }
    for (int i = 0; differ && i < weights->count; i++)
        if (cse_element_is_float(weights->list[i].element) &&
            fnmatch(pattern, weights->list[i].name, 0) == 0) {
            marked[i] = true;
            count++;
        }
    return count;
}

void cse_map_even_stacks(const cse_map *map, cse_weights **weights)
{
    int count = 0;
    bool *marked = cse_calloc((size_t)(*weights)->count + 1, sizeof *marked);
    for (int r = 0; r < map->rule_count; r++)
        if (map->rules[r].stack != NULL)
            count += mark_mixed(&map->rules[r], *weights, marked);
    if (count > 0)
        *weights = cse_weights_convert(weights, CSE_ELEMENT_F32, marked);
    free(marked);
}
