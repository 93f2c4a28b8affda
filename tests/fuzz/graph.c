/* A step graph as JSON is either refused, or its graph written as JSON gives the same graph. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "engine/graph/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cse_graph *graph = NULL, *again = NULL;
    if (cse_graph_from_json((const char *)data, size, &graph) != CSE_OK)
        return 0;
    cse_text first = { 0 }, second = { 0 };
    cse_graph_to_json(graph, &first);
    if (cse_graph_from_json(first.data, first.size, &again) != CSE_OK)
        abort();
    cse_graph_to_json(again, &second);
    if (strcmp(first.data, second.data) != 0)
        abort();
    cse_text_clear(&first);
    cse_text_clear(&second);
    cse_graph_destroy(&graph);
    cse_graph_destroy(&again);
    return 0;
}
