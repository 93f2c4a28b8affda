/* A name is the scope and the op that the model's code called, or a label in place of the op. */
#include "engine/graph/passes/value_names.h"

#include <stdio.h>
#include <string.h>

enum { MOST_OF_A_NAME = 256 };

const cse_op *cse_value_origin(const cse_node *node)
{
    while (node->gradient_of != NULL)
        node = node->gradient_of;
    return node->part_of != NULL ? node->part_of : node->op;
}

const char *cse_value_name_in(const cse_graph *graph, const char *scope, const char *label)
{
    return cse_arena_printf(graph->arena, "%s%s%s", scope, scope[0] ? "." : "", label);
}

static const char *name_of_cast(const cse_graph *graph, const cse_node *node)
{
    cse_node *source = cse_node_storage(node->inputs[0]);
    const char *of = NULL;
    if (source->op == &cse_op_state)
        of = graph->states[source->attributes.integers[0]].name;
    else if (source->op == &cse_op_input)
        of = graph->inputs[source->attributes.integers[0]].name;
    else if (source->op->role != CSE_OP_ROLE_CAST)
        of = cse_value_name(graph, source);
    return of != NULL ? cse_arena_printf(graph->arena, "%s.cast", of) : NULL;
}

const char *cse_value_name(const cse_graph *graph, const cse_node *node)
{
    const bool cast = node->inserted_cast && node->input_count == 1;
    const char *of_cast = cast ? name_of_cast(graph, node) : NULL;
    if (of_cast != NULL)
        return of_cast;
    const char *own = node->label != NULL ? node->label : cse_value_origin(node)->name;
    const char *suffix = node->gradient_of != NULL ? ".backward" : "";
    return cse_value_name_in(graph, node->scope,
                             cse_arena_printf(graph->arena, "%s%s", own, suffix));
}

cse_status cse_value_wish_open(const cse_numerics_request *request, cse_value_wish *wish)
{
    char why[256];
    *wish = (cse_value_wish){ .text = request != NULL ? request->values : NULL };
    if (wish->text == NULL)
        return CSE_OK;
    wish->pattern = cse_pattern_new(wish->text, why, sizeof why);
    wish->by_name = wish->pattern != NULL && !cse_pattern_matches_end(wish->pattern, "\x01");
    return wish->pattern != NULL
               ? CSE_OK
               : cse_fail(CSE_CONFIG, "numerics.values: \"%.120s\" is no regular expression: %s",
                          wish->text, why);
}

void cse_value_wish_close(cse_value_wish *wish)
{
    cse_pattern_destroy(&wish->pattern);
}

bool cse_value_wish_has(const cse_value_wish *wish, const char *name)
{
    char numbered[512];
    bool has = wish->pattern != NULL && cse_pattern_matches_end(wish->pattern, name);
    if (has || wish->pattern == NULL || strchr(wish->text, '#') == NULL)
        return has;
    for (int number = 2; !has && number <= MOST_OF_A_NAME; number++) {
        snprintf(numbered, sizeof numbered, "%s#%d", name, number);
        has = cse_pattern_matches_end(wish->pattern, numbered);
    }
    return has;
}
