/* Weights stay where they are until they are read: all of this is views of each other. */
#include "engine/formats/weights/peft/add.h"

#include "engine/formats/weights/peft/base.h"
#include "engine/formats/weights/peft/merge_own.h"
#include "engine/formats/weights/peft/merged.h"

cse_status cse_peft_add(cse_weights **weights, const cse_map *map, const json_t *facts,
                        const cse_weights_adapters *adapters)
{
    cse_peft_set set;
    cse_status status = cse_peft_set_open(adapters, &set);
    for (int i = 0; i < set.count && status == CSE_OK && !adapters->any_base; i++)
        status = cse_peft_base_check(set.folders[i], *weights, map, facts);
    if (status == CSE_OK)
        status = cse_peft_merge(weights, map, &set);
    cse_peft_set_close(&set);
    return status;
}

cse_status cse_peft_add_to_ours(cse_weights **weights, const cse_weights_adapters *adapters)
{
    cse_weights *theirs = NULL, *ours = NULL;
    cse_map *map = NULL;
    json_t *facts = NULL;
    CSE_TRY(cse_weights_merge_adapter(weights));
    CSE_TRY(cse_map_for_weights(*weights, "hugging_face", NULL, &map, &facts));
    const char *config = (*weights)->config, *origin = (*weights)->origin;
    cse_status status = cse_map_to_theirs(map, facts, weights, &theirs);
    if (status == CSE_OK)
        status = cse_peft_add(&theirs, map, facts, adapters);
    if (status == CSE_OK)
        status = cse_map_to_ours(map, facts, &theirs, &ours);
    json_decref(facts);
    if (status != CSE_OK) {
        cse_weights_close(&theirs);
        return status;
    }
    ours->config = cse_arena_string(ours->arena, config);
    ours->origin = cse_arena_string(ours->arena, origin);
    *weights = ours;
    return CSE_OK;
}
