/* The execution that takes a sample does not know what it is a part of. */
#include "run/record/topology_rows.h"

#include "engine/base/text.h"

void cse_topology_rows_add(cse_store *store, bool training, const char *json)
{
    cse_text text = { 0 };
    if (*json != '{')
        return;
    cse_text_add(&text, "{\"loop\":\"%s\",%s", training ? "training" : "validation", json + 1);
    cse_store_topology(store, text.data);
    cse_text_clear(&text);
}
