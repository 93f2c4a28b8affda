/* Both lists grow together. */
#include "dataloader/tokenizer/token_ids.h"

#include "engine/base/arena.h"

void cse_token_ids_reserve(cse_token_ids *ids, size_t more)
{
    if (ids->count + more <= ids->capacity)
        return;
    ids->capacity = (ids->count + more) * 2;
    ids->ids = cse_realloc(ids->ids, ids->capacity * sizeof *ids->ids);
    if (ids->with_places)
        ids->places = cse_realloc(ids->places, ids->capacity * sizeof *ids->places);
}

void cse_token_ids_put(cse_token_ids *ids, int32_t id, size_t begin, size_t end)
{
    cse_token_ids_reserve(ids, 1);
    if (ids->with_places)
        ids->places[ids->count] = (cse_token_place){ .begin = begin, .end = end };
    ids->ids[ids->count++] = id;
}
