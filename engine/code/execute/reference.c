/* The interpreter: runs a planned graph with the ops' reference kernels.
 *
 * Compiled code is tested against it, and it runs where there is no compiler. Values that the plan
 * stores are read and written at their planned places; the others live in buffers that are
 * allocated when the interpreter is opened, so that running allocates nothing. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/code/execute/poison.h"
#include "engine/code/execute/tensor_statistics.h"
#include "engine/graph/ops/blockwise.h"
#include "engine/graph/trace/arguments.h"

typedef struct interpreter {
    cse_executable base;
    void **buffers; /* by position in graph->nodes; NULL for values with a planned place */
    float line[CSE_MAX_LINE_NODES][CSE_LINE_ELEMENTS];
} interpreter;

static int64_t bytes_of(const cse_node *node)
{
    return cse_shape_elements(node->shape) * (int64_t)cse_dtype_size(node->dtype);
}

/* After opening, node->scratch holds the node's position. */
static void *place_of(interpreter *self, const cse_frame *frame, cse_node *node)
{
    node = cse_node_storage(node);
    if (node->space != CSE_SPACE_NONE)
        return frame->base[node->space] + node->offset_bytes;
    return self->buffers[node->scratch];
}

/* Fills in the leaves whose value the frame holds. */
static void fill_leaf(interpreter *self, const cse_frame *frame, cse_node *node)
{
    if (node->op == &cse_op_step_number)
        *(int32_t *)self->buffers[node->scratch] = (int32_t)frame->step;
    if (node->op != &cse_op_sample_index)
        return;
    int32_t *samples = self->buffers[node->scratch];
    for (int64_t i = 0; i < cse_shape_elements(node->shape); i++)
        samples[i] = (int32_t)(frame->first_sample + i);
}

static void run_node(interpreter *self, const cse_frame *frame, cse_node *node)
{
    const void *inputs[CSE_MAX_INPUTS];
    if (node->op->kind == CSE_OP_RESHAPE)
        return;
    for (int i = 0; i < node->input_count; i++)
        inputs[i] = place_of(self, frame, node->inputs[i]);
    const cse_reference call = { .node = node,
                                 .inputs = inputs,
                                 .output = place_of(self, frame, node),
                                 .seed = frame->seed,
                                 .step = frame->step,
                                 .first_sample = frame->first_sample };
    node->op->reference(&call);
}

/* Counts the value that the node will round, as float32. Must precede the node's own run, whose
 * result may overwrite one of its inputs. */
static void count_unrounded(interpreter *self, const cse_frame *frame, const cse_node *node)
{
    const void *inputs[CSE_MAX_INPUTS];
    cse_node wide = *node;
    wide.dtype = CSE_FLOAT32;
    for (int i = 0; i < node->input_count; i++)
        inputs[i] = place_of(self, frame, node->inputs[i]);
    node->op->reference(&(cse_reference){ .node = &wide,
                                          .inputs = inputs,
                                          .output = frame->collector->scratch,
                                          .seed = frame->seed,
                                          .step = frame->step });
    frame->collector->count(frame->collector, frame, node->tracked - 1, frame->collector->scratch);
}

static void run_tracked(interpreter *self, const cse_frame *frame, cse_node *node)
{
    const int tracked = node->tracked - 1;
    const bool unrounded = self->base.graph->tracked[tracked].scratch_offset >= 0;
    if (unrounded)
        count_unrounded(self, frame, node);
    run_node(self, frame, node);
    if (!unrounded)
        frame->collector->count(frame->collector, frame, tracked, place_of(self, frame, node));
}

static void run_group(interpreter *self, const cse_frame *frame, const cse_group *group)
{
    for (int n = 0; n < group->node_count; n++) {
        cse_node *node = group->nodes[n];
        if (frame->collector != NULL && node->tracked > 0)
            run_tracked(self, frame, node);
        else
            run_node(self, frame, node);
    }
}

/* `ns` NULL: groups are not timed. */
static void run_timed(cse_executable *executable, cse_frame *frame, cse_part part, int64_t ns[])
{
    interpreter *self = (interpreter *)executable;
    const cse_graph *graph = self->base.graph;
    cse_frame_lend(frame);
    for (int n = 0; n < graph->node_count; n++)
        fill_leaf(self, frame, graph->nodes[n]);
    for (int g = 0; g < graph->group_count; g++) {
        if (graph->groups[g].part != part)
            continue;
        if (ns != NULL)
            ns[g] = -1;
        if (graph->groups[g].per_step && frame->prepared && frame->collector == NULL)
            continue;
        if (cse_frame_leaves_out(frame, part, g))
            continue;
        cse_frame_announce_group(frame, g);
        const int64_t start_ns = ns != NULL ? cse_clock_ns() : 0;
        run_group(self, frame, &graph->groups[g]);
        if (ns != NULL)
            ns[g] = cse_clock_ns() - start_ns;
        cse_frame_note_group(frame, part, g);
        cse_poison_after(self->base.poison, frame, g);
    }
}

static void run_replica(cse_executable *executable, cse_frame *frame)
{
    run_timed(executable, frame, CSE_PART_REPLICA, NULL);
}

static void run_weights(cse_executable *executable, cse_frame *frame)
{
    run_timed(executable, frame, CSE_PART_WEIGHTS, NULL);
}

/* Where the elements of an input for one line begin: in a line buffer for the group's own values;
 * any other input is a scalar or has as many elements as the group. */
static const void *line_input(interpreter *self, const cse_frame *frame, const cse_group *group,
                              cse_node *node, int64_t first_element)
{
    for (int n = 0; n < group->node_count; n++)
        if (group->nodes[n] == node)
            return self->line[n];
    unsigned char *start = place_of(self, frame, node);
    const int64_t line = first_element / CSE_LINE_ELEMENTS, lines[2] = { line, line + 1 };
    int64_t bytes[2];
    if (cse_shape_elements(node->shape) == 1)
        return start;
    cse_group_line_bytes(group, cse_node_storage(node), lines, bytes);
    return start + bytes[0];
}

/* A block of a line, as the ops compute it of all. */
static bool compute_block(const cse_node *node, const void *const inputs[], int64_t count,
                          void *output)
{
    if (node->op == &cse_op_dequantize_blockwise)
        cse_dequantize_values(inputs[0], count, cse_block_factor(&node->attributes), output);
    else if (node->op != &cse_op_quantize_blockwise)
        return false;
    else if (node->input_count == 3 && *(const unsigned char *)inputs[1] == 0)
        memcpy(output, inputs[2], CSE_BLOCK_WORDS * sizeof(int32_t));
    else
        cse_quantize_values(inputs[0], count, cse_block_factor(&node->attributes), output);
    return true;
}

static void compute_line_node(interpreter *self, const cse_frame *frame, const cse_group *group,
                              int n, const int64_t range[2])
{
    cse_node *node = group->nodes[n];
    const void *inputs[CSE_MAX_INPUTS];
    for (int i = 0; i < node->input_count; i++)
        inputs[i] = line_input(self, frame, group, node->inputs[i], range[0]);
    size_t size = cse_dtype_size(node->dtype);
    int64_t count = range[1] - range[0];
    unsigned char *output = (unsigned char *)self->line[n];
    if (compute_block(node, inputs, count, output))
        return;
    if (node->op->kind == CSE_OP_BROADCAST) {
        for (int64_t i = 0; i < count; i++)
            memcpy(output + (size_t)i * size, inputs[0], size);
        return;
    }
    if (node->op->kind == CSE_OP_RESHAPE) {
        memcpy(output, inputs[0], (size_t)count * size);
        return;
    }
    cse_node flat = *node;
    flat.shape = cse_shape_of(count);
    node->op->reference(&(cse_reference){ .node = &flat,
                                          .inputs = inputs,
                                          .output = output,
                                          .seed = frame->seed,
                                          .step = frame->step,
                                          .first_element = range[0] });
}

/* Computes all values of a line of the group; `range` becomes its elements. */
static void compute_line(interpreter *self, const cse_frame *frame, const cse_group *group,
                         int64_t line, int64_t range[2])
{
    int64_t end = (line + 1) * CSE_LINE_ELEMENTS;
    range[0] = line * CSE_LINE_ELEMENTS;
    range[1] = end < group->elements ? end : group->elements;
    for (int n = 0; n < group->node_count; n++)
        compute_line_node(self, frame, group, n, range);
}

/* Where the line of an assigned state begins; *size: its bytes. */
static unsigned char *state_place(const cse_frame *frame, const cse_group *group,
                                  const cse_node *assign, int64_t line, size_t *size)
{
    int64_t bytes[2];
    cse_group_line_bytes(group, assign, (const int64_t[]){ line, line + 1 }, bytes);
    *size = (size_t)(bytes[1] - bytes[0]);
    return frame->base[CSE_SPACE_STATE] + assign->offset_bytes + bytes[0];
}

static void keep_line(const cse_frame *frame, const cse_group *group, const cse_undo_log *undo,
                      int64_t line)
{
    unsigned char *kept = undo->lines[line & 1];
    size_t size;
    for (int n = 0; n < group->node_count; n++) {
        if (group->nodes[n]->op != &cse_op_assign)
            continue;
        const unsigned char *place = state_place(frame, group, group->nodes[n], line, &size);
        memcpy(kept, place, size);
        kept += CSE_LINE_ELEMENTS * 4;
    }
    __asm__ volatile("" ::: "memory");
    *undo->progress = undo->dirty_base + (uint64_t)line;
    __asm__ volatile("" ::: "memory");
}

static void run_update(cse_executable *executable, cse_frame *frame, int number,
                       const int64_t lines[2], const cse_undo_log *undo)
{
    interpreter *self = (interpreter *)executable;
    const cse_group *group = &self->base.graph->groups[number];
    assert(group->part == CSE_PART_UPDATE && group->node_count <= CSE_MAX_LINE_NODES);
    for (int64_t line = lines[0]; line < lines[1]; line++) {
        int64_t range[2];
        size_t size;
        compute_line(self, frame, group, line, range);
        if (undo != NULL)
            keep_line(frame, group, undo, line);
        for (int n = 0; n < group->node_count; n++) {
            if (group->nodes[n]->op != &cse_op_assign)
                continue;
            unsigned char *place = state_place(frame, group, group->nodes[n], line, &size);
            memcpy(place, self->line[n], size);
        }
        __asm__ volatile("" ::: "memory");
    }
}

static void run_propose(cse_executable *executable, const cse_frame *frame, int number,
                        const int64_t lines[2], float *const values[])
{
    interpreter *self = (interpreter *)executable;
    const cse_group *group = &self->base.graph->groups[number];
    cse_node *proposed[CSE_MAX_PROPOSED];
    const int count = cse_group_proposed(self->base.graph, number, proposed);
    for (int64_t line = lines[0]; line < lines[1]; line++) {
        int64_t range[2];
        compute_line(self, frame, group, line, range);
        for (int i = 0; i < count; i++)
            memcpy(values[i] + (line - lines[0]) * CSE_LINE_ELEMENTS,
                   line_input(self, frame, group, proposed[i], range[0]),
                   (size_t)(range[1] - range[0]) * 4);
    }
}

static void destroy(cse_executable *executable)
{
    interpreter *self = (interpreter *)executable;
    for (int n = 0; n < self->base.graph->node_count; n++)
        free(self->buffers[n]);
    free(self->buffers);
    free(self);
}

static cse_status check_update_groups(const cse_graph *graph)
{
    for (int g = 0; g < graph->group_count; g++)
        if (graph->groups[g].part == CSE_PART_UPDATE &&
            graph->groups[g].node_count > CSE_MAX_LINE_NODES)
            return cse_fail(CSE_INTERNAL,
                            "update group %d has %d nodes; the interpreter accepts at most %d", g,
                            graph->groups[g].node_count, CSE_MAX_LINE_NODES);
    return CSE_OK;
}

cse_status cse_executable_interpret(const cse_graph *graph, cse_executable **executable)
{
    CSE_TRY(check_update_groups(graph));
    interpreter *self = cse_aligned_calloc(sizeof *self);
    self->base = (cse_executable){ .graph = graph,
                                   .kind = "interpreted",
                                   .poison = cse_poison_new(graph),
                                   .replica = run_replica,
                                   .weights = run_weights,
                                   .timed = run_timed,
                                   .update = run_update,
                                   .propose = run_propose,
                                   .destroy = destroy };
    self->buffers = cse_calloc((size_t)graph->node_count + 1, sizeof *self->buffers);
    for (int n = 0; n < graph->node_count; n++) {
        cse_node *node = graph->nodes[n];
        node->scratch = n;
        if (node->space == CSE_SPACE_NONE && node->part != CSE_PART_UPDATE &&
            node->op->kind != CSE_OP_RESHAPE)
            self->buffers[n] = cse_aligned_calloc((size_t)bytes_of(node));
        if (node->op == &cse_op_constant && node->shape.rank == 0 && self->buffers[n] != NULL)
            cse_write_element(node->dtype, self->buffers[n], 0, node->attributes.numbers[0]);
    }
    *executable = &self->base;
    return CSE_OK;
}
