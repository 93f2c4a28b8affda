/* Names are those of printed graphs (engine/graph/print.c). */
#include "run/measure/plan_text.h"

#include "engine/graph/names.h"

static void add_place(cse_space space, int64_t offset, cse_text *out)
{
    cse_text_add(out, "  at %s+%lld\n", cse_space_name(space), (long long)offset);
}

static void add_value(const cse_node *node, cse_text *out)
{
    char shape[128];
    cse_text_add(out, "    %s: %s %s", node->op->name, cse_dtype_name(node->dtype),
                 cse_shape_text(node->shape, shape, sizeof shape));
    add_place(node->space, node->offset_bytes, out);
}

static void add_group(const cse_group *group, cse_text *out)
{
    const cse_node *last = group->node_count > 0 ? group->nodes[group->node_count - 1] : NULL;
    cse_text_add(out, "%s%s:", cse_part_name(group->part), group->per_step ? ", once a step" : "");
    for (int n = 0; n < group->node_count; n++)
        cse_text_add(out, " %s", group->nodes[n]->op->name);
    if (last != NULL && last->scope[0] != '\0')
        cse_text_add(out, "  # %s%s", last->scope, last->backward ? " (backward)" : "");
    cse_text_add(out, "\n");
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n]->space != CSE_SPACE_NONE)
            add_value(group->nodes[n], out);
}

static void add_state(const cse_state_entry *state, cse_text *out)
{
    char shape[128];
    cse_text_add(out, "state %s: %s %s%s", state->name, cse_dtype_name(state->dtype),
                 cse_shape_text(state->shape, shape, sizeof shape),
                 state->trainable ? " trainable" : "");
    add_place(CSE_SPACE_STATE, state->offset_bytes, out);
}

void cse_plan_text(const cse_graph *graph, cse_text *out)
{
    cse_text_add(out, "step: %d microbatches of %lld samples\n", graph->microbatch_count,
                 (long long)graph->micro_batch_size);
    for (int g = 0; g < graph->group_count; g++)
        add_group(&graph->groups[g], out);
    for (int s = 0; s < graph->state_count; s++)
        add_state(&graph->states[s], out);
    for (int s = 1; s < CSE_SPACE_COUNT; s++)
        if (graph->space_bytes[s] > 0)
            cse_text_add(out, "space %s: %lld bytes\n", cse_space_name((cse_space)s),
                         (long long)graph->space_bytes[s]);
}
