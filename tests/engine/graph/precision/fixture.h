/* What the tests of the precision pass share: a graph being traced, states, gradients, settings. */
#ifndef CSE_TESTS_ENGINE_PRECISION_FIXTURE_H
#define CSE_TESTS_ENGINE_PRECISION_FIXTURE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/passes/pass.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/compiled_graph.h"

static cse_graph *graph;
static cse_precision *precision;

static inline void start(void)
{
    graph = cse_graph_new(1, 4);
    cse_trace_begin(graph);
}

static inline void stop(void)
{
    cse_trace_end();
    cse_graph_destroy(&graph);
    cse_precision_destroy(&precision);
}

static inline cse_tensor *input(const char *name, cse_shape shape)
{
    return fixture_input(graph, name, shape, CSE_FLOAT32);
}

static inline cse_tensor *state(const char *name, cse_shape shape)
{
    int index;
    const cse_state_entry entry = { .name = name, .shape = shape, .trainable = true };
    ck_assert_int_eq(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    return cse_graph_state_node(graph, index);
}

/* The state's next value is the sum over the batch of the loss's gradient: all that matters here.
 */
static inline void differentiate(cse_tensor *loss, cse_tensor *weight)
{
    cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, loss, weight);
    graph->states[weight->attributes.integers[0]].next =
        cse_trace_1(&cse_op_batch_sum, NULL, gradient);
}

/* A result as it stands, of the batch's level or not: the passes up to precision ask for no more.
 */
static inline void result(cse_tensor *value)
{
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] = (cse_fetch_entry){ .name = "out", .value = value };
}

static inline void run(cse_status (*pass)(cse_graph *, bool))
{
    cse_status status = pass(graph, true);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    status = cse_graph_verify(graph);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

static inline void configure(const char *yaml)
{
    cse_precision_destroy(&precision);
    cse_status status = cse_precision_parse(yaml, &precision);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    graph->precision = precision;
}

/* Autodiff, then the pass under these settings. */
static inline void paint(const char *yaml)
{
    configure(yaml);
    ck_assert_msg(graph->error == CSE_OK, "%s", graph->error_message);
    run(cse_pass_autodiff);
    run(cse_pass_precision);
}

/* The only node of the op in one pass of the step; fails when there are more or none. */
static inline cse_node *only(const char *op, bool backward)
{
    cse_node *found = NULL;
    for (int n = 0; n < graph->node_count; n++) {
        cse_node *node = graph->nodes[n];
        if (strcmp(node->op->name, op) != 0 || node->backward != backward)
            continue;
        ck_assert_msg(found == NULL, "there are several nodes %s", op);
        found = node;
    }
    ck_assert_msg(found != NULL, "there is no node %s", op);
    return found;
}

static inline int inserted_casts(void)
{
    int count = 0;
    for (int n = 0; n < graph->node_count; n++)
        count += graph->nodes[n]->inserted_cast;
    return count;
}

#endif
