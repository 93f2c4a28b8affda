/* The schedule of the groups within each program.
 *
 * A list scheduler: of the groups whose inputs are computed, the next is the one after which the
 * least memory is live (bytes it stores minus bytes it reads for the last time); ties go to the
 * first in graph order. Gradients of weights, whose results are stored outside the workspace, are
 * thus computed as soon as possible, and the activations they read are freed.
 *
 * With several microbatches, the groups of REPLICA that depend on states and the step alone (a
 * weight rounded to 16 bits) come first: their results are the same for all microbatches of a step,
 * and a process computes them once.
 *
 * Groups that only recompute activations for the backward pass wait until nothing else is ready,
 * and those of the last region of the forward pass come first: that is where the backward pass
 * waits.
 *
 * With states that are larger than memory, what is made of states alone waits in the same way, and
 * of all that waits the first is what the earliest group of the graph's order waits for: a weight
 * is rounded right before its product.
 *
 * The groups that are ready stand in a heap. What a group frees changes when it becomes the only
 * one that still reads a value: it is then added again, and its older entry is passed over. */
#include <stdlib.h>
#include <string.h>

#include "engine/graph/passes/pass.h"

/* A group that was ready, and how much memory it would take. */
typedef struct entry {
    bool per_step;
    int recomputed; /* of which region it recomputes values; 0: it does something else */
    int64_t growth;
    int group;
} entry; /* with streamed states `recomputed` says how early the one is that waits for it */

typedef struct schedule {
    const cse_graph *graph;
    int (*ranges)[2]; /* inputs of each group: a range of `inputs` */
    cse_node **inputs;
    int *waiting;    /* by group: inputs that no group of the part has computed yet */
    int *first_user; /* by group, and one more: where its users begin in `users` */
    int *users;      /* groups of the same part, once for each value that they read */
    int *readers;    /* by id: groups that will still read the value */
    bool *goes_on;   /* by id: the value is one that a later group adds to in its place */
    int64_t *growth; /* by group that is ready: its latest */
    bool *is_ready;  /* by group: its inputs are computed, and it is not taken yet */
    int *waits;      /* by group, with streamed states: how urgent what waits is; NULL: without */
    struct entry *heap;
    int heap_count, heap_capacity;
    int *order; /* new position -> old group */
} schedule;

static bool is_made_by_group(const cse_node *node, cse_part part)
{
    return node->group >= 0 && node->part == part;
}

static void collect_inputs(schedule *s)
{
    const cse_graph *graph = s->graph;
    int total = 0, used = 0;
    for (int g = 0; g < graph->group_count; g++)
        total += cse_group_inputs(graph, &graph->groups[g], NULL, 0);
    s->inputs = cse_calloc((size_t)total + 1, sizeof *s->inputs);
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        /* Without an array, cse_group_inputs counts a value for each time it is read; with one,
         * once. */
        int count = cse_group_inputs(graph, group, s->inputs + used, total - used);
        s->ranges[g][0] = used;
        used += count;
        s->ranges[g][1] = used;
        for (int i = s->ranges[g][0]; i < used; i++) {
            s->readers[s->inputs[i]->id]++;
            s->waiting[g] += is_made_by_group(s->inputs[i], group->part);
        }
    }
}

/* The groups that each group's values let go on. */
static void collect_users(schedule *s)
{
    const cse_graph *graph = s->graph;
    int total = s->ranges[graph->group_count - 1][1];
    s->users = cse_calloc((size_t)total + 1, sizeof *s->users);
    for (int pass = 0; pass < 2; pass++) {
        for (int g = graph->group_count - 1; g >= 0; g--)
            for (int i = s->ranges[g][0]; i < s->ranges[g][1]; i++) {
                if (!is_made_by_group(s->inputs[i], graph->groups[g].part))
                    continue;
                int *at = &s->first_user[s->inputs[i]->group];
                if (pass == 0)
                    ++*at;
                else
                    s->users[--*at] = g;
            }
        for (int g = 0; pass == 0 && g < graph->group_count; g++)
            s->first_user[g + 1] += s->first_user[g];
    }
}

/* Sums that go on in place end outside the workspace, as the gradients that they are of. */
static void find_sums_that_go_on(schedule *s)
{
    const cse_graph *graph = s->graph;
    for (int g = 0; g < graph->group_count; g++) {
        const cse_node *first = graph->groups[g].nodes[0];
        const int updates = first->op->updates;
        if (graph->groups[g].kind == CSE_GROUP_LIBRARY && updates > 0 &&
            first->input_count >= updates)
            s->goes_on[cse_node_storage(first->inputs[updates - 1])->id] = true;
    }
}

/* `known`: of the groups before it. */
static bool is_of_states(const schedule *s, int g, const bool *known)
{
    const cse_graph *graph = s->graph;
    const cse_group *group = &graph->groups[g];
    bool alone = group->part == CSE_PART_REPLICA;
    for (int n = 0; alone && n < group->node_count; n++)
        alone = !group->nodes[n]->batch && group->nodes[n]->op->role != CSE_OP_ROLE_STORE;
    for (int i = s->ranges[g][0]; alone && i < s->ranges[g][1]; i++)
        alone = !is_made_by_group(s->inputs[i], group->part) || known[s->inputs[i]->group];
    return alone;
}

/* Groups stand behind those they read. */
static void find_per_step_groups(const schedule *s, cse_graph *graph)
{
    bool *known = cse_calloc((size_t)graph->group_count + 1, sizeof *known);
    for (int g = 0; g < graph->group_count; g++)
        graph->groups[g].per_step = known[g] =
            graph->microbatch_count > 1 && !graph->streams_states && is_of_states(s, g, known);
    free(known);
}

/* Workspace bytes after the group minus before. */
static int64_t growth_of(const schedule *s, int g)
{
    const cse_group *group = &s->graph->groups[g];
    int64_t growth = 0;
    for (int i = s->ranges[g][0]; i < s->ranges[g][1]; i++)
        if (is_made_by_group(s->inputs[i], group->part) && s->readers[s->inputs[i]->id] == 1 &&
            !s->goes_on[s->inputs[i]->id])
            growth -= cse_node_bytes(s->inputs[i]);
    for (int n = 0; n < group->node_count; n++)
        if (s->readers[group->nodes[n]->id] > 0 && group->nodes[n]->op->role != CSE_OP_ROLE_STORE &&
            !s->goes_on[group->nodes[n]->id])
            growth += cse_node_bytes(group->nodes[n]);
    return growth;
}

/* The region whose values the group recomputes, and nothing else; 0: none. */
static int recomputed_region(const cse_group *group)
{
    int region = 0;
    for (int n = 0; n < group->node_count; n++) {
        if (group->nodes[n]->recomputed == 0)
            return 0;
        if (group->nodes[n]->recomputed > region)
            region = group->nodes[n]->recomputed;
    }
    return region;
}

/* ---- streamed states ---- */

/* Groups stand behind those they read: users first. What does not wait has 0, and of the rest the
 * greater number goes first. */
static void find_waiting(schedule *s)
{
    const cse_graph *graph = s->graph;
    bool *alone = cse_calloc((size_t)graph->group_count + 1, sizeof *alone);
    for (int g = 0; g < graph->group_count; g++) {
        alone[g] = is_of_states(s, g, alone);
        s->waits[g] = alone[g] || recomputed_region(&graph->groups[g]) > 0;
    }
    free(alone);
    for (int g = graph->group_count - 1; g >= 0; g--)
        for (int u = s->waits[g] ? s->first_user[g] : 0; s->waits[g] && u < s->first_user[g + 1];
             u++) {
            const int user = s->users[u];
            const int urgent = s->waits[user] > 0 ? s->waits[user] : graph->group_count - user + 1;
            s->waits[g] = urgent > s->waits[g] ? urgent : s->waits[g];
        }
}

/* ---- the heap ---- */

static bool comes_before(const entry *a, const entry *b)
{
    if (a->per_step != b->per_step)
        return a->per_step;
    if (a->recomputed != b->recomputed)
        return a->recomputed == 0 || (b->recomputed > 0 && a->recomputed > b->recomputed);
    return a->growth != b->growth ? a->growth < b->growth : a->group < b->group;
}

static void heap_add(schedule *s, entry added)
{
    CSE_GROW(s->heap, s->heap_count, s->heap_capacity);
    int at = s->heap_count++;
    for (; at > 0 && comes_before(&added, &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = added;
}

static entry heap_take(schedule *s)
{
    const entry first = s->heap[0], last = s->heap[--s->heap_count];
    int at = 0;
    for (int child; (child = 2 * at + 1) < s->heap_count; at = child) {
        if (child + 1 < s->heap_count && comes_before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!comes_before(&s->heap[child], &last))
            break;
        s->heap[at] = s->heap[child];
    }
    s->heap[at] = last;
    return first;
}

/* ---- the schedule ---- */

/* Adds a group that is ready, or whose growth may have changed. */
static void offer(schedule *s, int g, bool enabled)
{
    int64_t growth = enabled ? growth_of(s, g) : 0;
    if (s->is_ready[g] && growth == s->growth[g])
        return;
    s->is_ready[g] = true;
    s->growth[g] = growth;
    const cse_group *group = &s->graph->groups[g];
    const int recomputed = !enabled ? 0 : s->waits != NULL ? s->waits[g] : recomputed_region(group);
    heap_add(s, (entry){ group->per_step, recomputed, growth, g });
}

/* Takes the next group from those that are ready; -1 when there is none. */
static int take_next_group(schedule *s)
{
    while (s->heap_count > 0) {
        const entry first = heap_take(s);
        if (!s->is_ready[first.group] || s->growth[first.group] != first.growth)
            continue;
        s->is_ready[first.group] = false;
        return first.group;
    }
    return -1;
}

static void finish_group(schedule *s, int g, bool enabled)
{
    const cse_part part = s->graph->groups[g].part;
    for (int i = s->ranges[g][0]; i < s->ranges[g][1]; i++) {
        const cse_node *input = s->inputs[i];
        bool last_reader_left = --s->readers[input->id] == 1 && is_made_by_group(input, part);
        for (int u = last_reader_left ? s->first_user[input->group] : 0;
             last_reader_left && u < s->first_user[input->group + 1]; u++)
            if (s->is_ready[s->users[u]])
                offer(s, s->users[u], enabled);
    }
    for (int u = s->first_user[g]; u < s->first_user[g + 1]; u++)
        if (--s->waiting[s->users[u]] == 0)
            offer(s, s->users[u], enabled);
}

static int schedule_part(schedule *s, cse_part part, bool enabled, int count)
{
    const cse_graph *graph = s->graph;
    for (int g = 0; g < graph->group_count; g++)
        if (graph->groups[g].part == part && s->waiting[g] == 0)
            offer(s, g, enabled);
    for (int g; (g = take_next_group(s)) >= 0;) {
        s->order[count++] = g;
        finish_group(s, g, enabled);
    }
    return count;
}

static void renumber(cse_graph *graph, const int *order)
{
    cse_group *groups = cse_calloc((size_t)graph->group_count + 1, sizeof *groups);
    int64_t line = 0;
    for (int g = 0; g < graph->group_count; g++) {
        groups[g] = graph->groups[order[g]];
        for (int n = 0; n < groups[g].node_count; n++)
            groups[g].nodes[n]->group = g;
        groups[g].first_line = groups[g].part == CSE_PART_UPDATE ? line : 0;
        line += cse_group_lines(&groups[g]);
    }
    memcpy(graph->groups, groups, (size_t)graph->group_count * sizeof *groups);
    free(groups);
}

cse_status cse_pass_order(cse_graph *graph, bool enabled)
{
    size_t groups = (size_t)graph->group_count + 1;
    if (graph->group_count == 0)
        return CSE_OK;
    schedule s = { .graph = graph };
    s.ranges = cse_calloc(groups, sizeof *s.ranges);
    s.waiting = cse_calloc(groups, sizeof *s.waiting);
    s.first_user = cse_calloc(groups + 1, sizeof *s.first_user);
    s.growth = cse_calloc(groups, sizeof *s.growth);
    s.is_ready = cse_calloc(groups, sizeof *s.is_ready);
    s.order = cse_calloc(groups, sizeof *s.order);
    s.readers = cse_calloc((size_t)graph->next_id + 1, sizeof *s.readers);
    s.goes_on = cse_calloc((size_t)graph->next_id + 1, sizeof *s.goes_on);
    collect_inputs(&s);
    collect_users(&s);
    find_sums_that_go_on(&s);
    find_per_step_groups(&s, graph);
    if (graph->streams_states) {
        s.waits = cse_calloc(groups, sizeof *s.waits);
        find_waiting(&s);
    }
    int count = 0;
    for (cse_part part = CSE_PART_REPLICA; part < CSE_PART_COUNT; part++)
        count = schedule_part(&s, part, enabled, count);
    cse_status status = CSE_OK;
    if (count < graph->group_count)
        status = cse_fail(CSE_INTERNAL, "order: %d of %d groups wait for one another",
                          graph->group_count - count, graph->group_count);
    else
        renumber(graph, s.order);
    free(s.ranges);
    free(s.inputs);
    free(s.waiting);
    free(s.first_user);
    free(s.users);
    free(s.growth);
    free(s.is_ready);
    free(s.waits);
    free(s.heap);
    free(s.order);
    free(s.readers);
    free(s.goes_on);
    return status;
}
