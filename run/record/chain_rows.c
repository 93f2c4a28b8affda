/* Links are the same for thousands of steps, so that a row has none of them. */
#include "run/record/chain_rows.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

void cse_chain_rows_add(cse_chain_rows *rows, cse_store *store, const cse_chain_step *step)
{
    if (rows->links == NULL || strcmp(rows->links, step->links) != 0) {
        free(rows->links);
        rows->links = cse_strdup(step->links);
        cse_store_chain_links(store, step->steps, step->before, step->links);
    }
    cse_store_chain(store, &(cse_chain_row){ .step = step->steps,
                                             .states = step->states,
                                             .samples = step->samples,
                                             .chain = step->chain });
}

void cse_chain_rows_clear(cse_chain_rows *rows)
{
    free(rows->links);
    rows->links = NULL;
}
