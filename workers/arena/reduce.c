/* Every operation walks the table of segments; the loops over elements are in reduce_loops.c. */
#include "workers/arena/reduce.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "workers/arena/reduce_loops.h"

bool cse_payload_possible(cse_rounding payload)
{
    return (payload.format == CSE_FLOAT32 && !payload.stochastic) ||
           cse_reduce_loops_for(payload) != NULL;
}

static int compare_segments(const void *a, const void *b)
{
    const cse_segment *left = a, *right = b;
    return left->first < right->first ? -1 : left->first > right->first;
}

/* Whether the backward pass computed the value. The node itself is a `partial`, the output of the
 * replica's program; its input tells the pass. */
static bool of_backward(const cse_node *node)
{
    if (node->backward)
        return true;
    return node->input_count > 0 && node->op == &cse_op_partial && node->inputs[0]->backward;
}

/* Whether it is a gradient: the backward pass computed it, or a gradient that is a value of the
 * forward pass (that of w in w * x is x), whose sum has the name of its state. */
static bool is_gradient(const cse_graph *graph, const cse_node *node)
{
    bool named = false;
    for (int r = 0; r < graph->reduction_count; r++)
        named = named || (graph->reductions[r].offset_bytes == node->offset_bytes &&
                          graph->reductions[r].sum->attributes.text != NULL);
    return named || of_backward(node);
}

/* The stream of random numbers depends on the sum's name, or on its index when it has none. */
static uint32_t stream_of(const cse_graph *graph, const cse_node *node)
{
    for (int r = 0; r < graph->reduction_count; r++) {
        const cse_node *sum = graph->reductions[r].sum;
        if (graph->reductions[r].offset_bytes != node->offset_bytes)
            continue;
        return sum->attributes.text != NULL ? (uint32_t)cse_hash_string(sum->attributes.text)
                                            : (uint32_t)r;
    }
    return 0;
}

cse_status cse_segments_find(const cse_graph *graph, cse_rounding payload, cse_segment *items,
                             int *count)
{
    const int64_t elements = graph->space_bytes[CSE_SPACE_PARTIAL] / 4;
    int found = 0, last = -1;
    for (int i = 0; i < graph->node_count; i++) {
        const cse_node *node = graph->nodes[i];
        if (node->space != CSE_SPACE_PARTIAL)
            continue;
        cse_segment segment = { .first = node->offset_bytes / 4,
                                .count = cse_shape_elements(node->shape),
                                .rounded =
                                    payload.format != CSE_FLOAT32 && is_gradient(graph, node) };
        if (segment.rounded && payload.stochastic)
            segment.stream = stream_of(graph, node);
        if (node->dtype != CSE_FLOAT32 || node->offset_bytes % 64 || segment.first < 0 ||
            segment.count < 0 || segment.count > elements - segment.first)
            return cse_fail(
                CSE_INTERNAL,
                "node %u (%s): its place among a gradient's values is wrong: %lld float32 "
                "values at byte %lld of %lld",
                node->id, node->op->name, (long long)segment.count, (long long)node->offset_bytes,
                (long long)elements * 4);
        items[found++] = segment;
    }
    qsort(items, (size_t)found, sizeof *items, compare_segments);
    for (int i = 0; i < found; i++) {
        cse_segment next = items[i];
        cse_segment *tail = last >= 0 ? &items[last] : NULL;
        if (tail && next.first == tail->first && next.count == tail->count) {
            tail->rounded |= next.rounded; /* two nodes share the bytes: an elided identity */
            tail->stream |= next.stream;   /* of whichever of the two is rounded */
            continue;
        }
        if (tail && next.first < tail->first + tail->count)
            return cse_fail(CSE_INTERNAL, "two values of a gradient overlap at byte %lld",
                            (long long)next.first * 4);
        items[++last] = next;
    }
    /* Neighbours are joined once all kinds are known. Gaps are padding: zero in every buffer. */
    found = last + 1;
    last = -1;
    for (int i = 0; i < found; i++) {
        cse_segment *tail = last >= 0 ? &items[last] : NULL;
        if (tail && tail->rounded == items[i].rounded && !(tail->rounded && payload.stochastic) &&
            items[i].first - (tail->first + tail->count) < 16)
            tail->count = items[i].first + items[i].count - tail->first;
        else
            items[++last] = items[i];
    }
    *count = last + 1;
    return CSE_OK;
}

bool cse_segments_exact(cse_segments segments)
{
    for (int i = 0; i < segments.count; i++)
        if (segments.items[i].rounded)
            return false;
    return true;
}

static float *floats(unsigned char *bytes, int64_t first)
{
    return (float *)(void *)bytes + first;
}

static const float *const_floats(const unsigned char *bytes, int64_t first)
{
    return (const float *)(const void *)bytes + first;
}

/* Packed values, from element `skip` on, of the segment that starts at float `first`. */
static uint16_t *packed(unsigned char *bytes, int64_t first, int64_t skip)
{
    return (uint16_t *)(void *)(bytes + 4 * first) + skip;
}

static const uint16_t *const_packed(const unsigned char *bytes, int64_t first, int64_t skip)
{
    return (const uint16_t *)(const void *)(bytes + 4 * first) + skip;
}

bool cse_segment_part_of(cse_segment segment, const int64_t range[2], cse_segment_part *part)
{
    const int64_t from = segment.first > range[0] ? segment.first : range[0];
    const int64_t end = segment.first + segment.count;
    const int64_t to = end < range[1] ? end : range[1];
    *part = (cse_segment_part){ segment, from - segment.first, to - from };
    return from < to;
}

static cse_draw draw_of(const cse_segments *segments, const cse_segment_part *part,
                        cse_microbatch_range sum)
{
    if (!segments->payload.stochastic)
        return (cse_draw){ 0, 0 };
    return (cse_draw){ cse_hash_key(segments->seed, segments->step, part->segment.stream,
                                    (uint32_t)sum.first, (uint32_t)sum.size),
                       (uint32_t)part->skip };
}

void cse_partial_sum_set(const cse_segments *segments, const int64_t range[2],
                         unsigned char *partial, const unsigned char *gradient, int microbatch)
{
    const cse_reduce_loops *loops = cse_reduce_loops_for(segments->payload);
    cse_segment_part p;
    for (int i = 0; i < segments->count; i++) {
        if (!cse_segment_part_of(segments->items[i], range, &p))
            continue;
        const int64_t first = p.segment.first, at = first + p.skip;
        if (p.segment.rounded)
            loops->pack(packed(partial, first, p.skip), const_floats(gradient, at), p.count,
                        draw_of(segments, &p, (cse_microbatch_range){ microbatch, 1 }));
        else
            memcpy(floats(partial, at), const_floats(gradient, at), (size_t)p.count * 4);
    }
}

void cse_partial_sum_add_gradient(const cse_segments *segments, const int64_t range[2],
                                  unsigned char *partial, const unsigned char *gradient,
                                  cse_microbatch_range sum)
{
    const cse_reduce_loops *loops = cse_reduce_loops_for(segments->payload);
    assert(sum.size > 1);
    const cse_microbatch_range last = { sum.first + sum.size - 1, 1 };
    cse_segment_part p;
    for (int i = 0; i < segments->count; i++) {
        if (!cse_segment_part_of(segments->items[i], range, &p))
            continue;
        const int64_t first = p.segment.first, at = first + p.skip;
        if (p.segment.rounded)
            loops->add_gradient(packed(partial, first, p.skip), const_floats(gradient, at), p.count,
                                draw_of(segments, &p, sum), draw_of(segments, &p, last));
        else
            cse_add_exact(floats(partial, at), const_floats(gradient, at), p.count);
    }
}

void cse_partial_sum_add(const cse_segments *segments, const int64_t range[2], unsigned char *left,
                         const unsigned char *right, cse_microbatch_range sum)
{
    const cse_reduce_loops *loops = cse_reduce_loops_for(segments->payload);
    cse_segment_part p;
    for (int i = 0; i < segments->count; i++) {
        if (!cse_segment_part_of(segments->items[i], range, &p))
            continue;
        const int64_t first = p.segment.first, at = first + p.skip;
        if (p.segment.rounded)
            loops->add_packed(packed(left, first, p.skip), const_packed(right, first, p.skip),
                              p.count, draw_of(segments, &p, sum));
        else
            cse_add_exact(floats(left, at), const_floats(right, at), p.count);
    }
}

typedef struct join_planner {
    cse_join *join;
    cse_partial_sum_lookup *lookup;
    void *self;
} join_planner;

/* With CSE_JOIN_ADD, `node` is the right child of the node over `sum`. */
static void plan_node(join_planner *planner, cse_tree_node node, int depth, cse_join_kind kind,
                      cse_microbatch_range sum)
{
    cse_join *join = planner->join;
    const unsigned char *partial = planner->lookup(planner->self, node);
    if (partial) {
        join->steps[join->count++] = (cse_join_step){ kind, depth, partial, sum };
        return;
    }
    int own = kind == CSE_JOIN_ADD ? depth + 1 : depth;
    const cse_microbatch_range all = { node.first, node.size };
    plan_node(planner, cse_tree_left(node), own, CSE_JOIN_LOAD, all);
    plan_node(planner, cse_tree_right(node), own, CSE_JOIN_ADD, all);
    if (kind == CSE_JOIN_ADD)
        join->steps[join->count++] = (cse_join_step){ CSE_JOIN_SUM, depth, NULL, sum };
}

void cse_join_plan(cse_join *join, cse_tree_node root, cse_partial_sum_lookup *lookup, void *self)
{
    join_planner planner = { join, lookup, self };
    join->count = 0;
    plan_node(&planner, root, 0, CSE_JOIN_LOAD, (cse_microbatch_range){ root.first, root.size });
}

static void rounded_step(const cse_segments *segments, const cse_join_step *step,
                         const cse_segment_part *p, float *y, const float *next)
{
    const cse_reduce_loops *loops = cse_reduce_loops_for(segments->payload);
    const cse_draw draw = draw_of(segments, p, step->sum);
    if (step->kind == CSE_JOIN_SUM)
        loops->add_rounded(y, next, p->count, draw);
    else if (step->kind == CSE_JOIN_LOAD)
        loops->unpack(y, const_packed(step->partial, p->segment.first, p->skip), p->count);
    else
        loops->add_unpacked(y, const_packed(step->partial, p->segment.first, p->skip), p->count,
                            draw);
}

static void exact_step(const cse_join_step *step, const cse_segment_part *p, float *y,
                       const float *next)
{
    const int64_t at = p->segment.first + p->skip;
    if (step->kind == CSE_JOIN_SUM)
        cse_add_exact(y, next, p->count);
    else if (step->kind == CSE_JOIN_LOAD)
        memcpy(y, const_floats(step->partial, at), (size_t)p->count * sizeof *y);
    else
        cse_add_exact(y, const_floats(step->partial, at), p->count);
}

/* Block 0 of the stack is the output itself. */
static void join_block(const cse_join *join, const cse_segments *segments,
                       const cse_segment_part *p, float *output)
{
    for (int i = 0; i < join->count; i++) {
        const cse_join_step *step = &join->steps[i];
        float *y = step->depth == 0 ? output : join->blocks + (int64_t)step->depth * CSE_JOIN_BLOCK;
        const float *next = join->blocks + (int64_t)(step->depth + 1) * CSE_JOIN_BLOCK;
        if (p->segment.rounded)
            rounded_step(segments, step, p, y, next);
        else
            exact_step(step, p, y, next);
    }
}

void cse_join_run(const cse_join *join, const cse_segments *segments, unsigned char *reduced,
                  int64_t first, int64_t end)
{
    assert(join->count > 0 && first >= 0 && first <= end);
    const int64_t range[2] = { first, end };
    cse_segment_part p;
    for (int i = 0; i < segments->count; i++) {
        if (!cse_segment_part_of(segments->items[i], range, &p))
            continue;
        for (int64_t left = p.count; left > 0; left -= p.count, p.skip += p.count) {
            p.count = left < CSE_JOIN_BLOCK ? left : CSE_JOIN_BLOCK;
            join_block(join, segments, &p, floats(reduced, p.segment.first + p.skip));
        }
    }
}
