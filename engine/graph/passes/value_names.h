/* What values of a step are called, and which of them are asked for as a whole. */
#ifndef CSE_PASSES_VALUE_NAMES_H
#define CSE_PASSES_VALUE_NAMES_H

#include "engine/base/pattern.h"
#include "engine/graph/graph.h"

/* What the model's code called: the composite, the op that a gradient is of. */
const cse_op *cse_value_origin(const cse_node *node);

/* "model.fc_layers.0.relu"; without the number that tells values of one name apart. */
const char *cse_value_name(const cse_graph *graph, const cse_node *node);

/* The same of a value of that scope with a label. */
const char *cse_value_name_in(const cse_graph *graph, const char *scope, const char *label);

/* numerics.values of a request. */
typedef struct cse_value_wish {
    const char *text;
    cse_pattern *pattern; /* NULL: nothing is asked for */
    bool by_name; /* not of all that there is, as ".*" is: then also what no kernel stores */
} cse_value_wish;

/* CSE_CONFIG: it is no regular expression. Close it also then. */
cse_status cse_value_wish_open(const cse_numerics_request *request, cse_value_wish *wish);
void cse_value_wish_close(cse_value_wish *wish);

/* Also where the expression asks for one of several values of this name, by its number. */
bool cse_value_wish_has(const cse_value_wish *wish, const char *name);

#endif
