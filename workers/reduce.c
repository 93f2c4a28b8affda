/* Each loop is written in fixed runs of 16 elements, which the compiler turns into vector code at
 * any level of optimisation that vectorises, and is compiled for three instruction sets; the one
 * the machine has is chosen when the program is loaded. */
#include "workers/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "engine/types/dtype.h"

/* Sanitizers instrument the choice, which runs before they are set up. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTOR_CLONES
#endif

#define FOR_EACH(i, n, statement)                   \
    do {                                            \
        int64_t block = 0;                          \
        for (; block + 16 <= (n); block += 16)      \
            for (int lane = 0; lane < 16; lane++) { \
                const int64_t i = block + lane;     \
                statement;                          \
            }                                       \
        for (int64_t i = block; i < (n); i++)       \
            statement;                              \
    } while (0)

static inline float rounded(float value)
{
    return cse_float_from_bfloat16(cse_bfloat16_from_float(value));
}

VECTOR_CLONES
static void add_exact(float *restrict y, const float *restrict x, int64_t n)
{
    FOR_EACH(i, n, y[i] += x[i]);
}

VECTOR_CLONES
static void add_rounded(float *restrict y, const float *restrict x, int64_t n)
{
    FOR_EACH(i, n, y[i] = rounded(y[i] + x[i]));
}

VECTOR_CLONES
static void pack(uint16_t *restrict y, const float *restrict x, int64_t n)
{
    FOR_EACH(i, n, y[i] = cse_bfloat16_from_float(x[i]));
}

VECTOR_CLONES
static void unpack(float *restrict y, const uint16_t *restrict x, int64_t n)
{
    FOR_EACH(i, n, y[i] = cse_float_from_bfloat16(x[i]));
}

VECTOR_CLONES
static void add_packed(uint16_t *restrict y, const uint16_t *restrict x, int64_t n)
{
    FOR_EACH(i, n,
             y[i] = cse_bfloat16_from_float(cse_float_from_bfloat16(y[i]) +
                                            cse_float_from_bfloat16(x[i])));
}

VECTOR_CLONES
static void add_leaf_packed(uint16_t *restrict y, const float *restrict x, int64_t n)
{
    FOR_EACH(i, n, y[i] = cse_bfloat16_from_float(cse_float_from_bfloat16(y[i]) + rounded(x[i])));
}

VECTOR_CLONES
static void add_unpacked(float *restrict y, const uint16_t *restrict x, int64_t n)
{
    FOR_EACH(i, n, y[i] = rounded(y[i] + cse_float_from_bfloat16(x[i])));
}

static int compare_segments(const void *a, const void *b)
{
    const cse_segment *left = a, *right = b;
    return left->first < right->first ? -1 : left->first > right->first;
}

/* Of the engine's own ops this file knows `partial` by name: it is the border of the replica's
 * program, and the value it takes says which pass it came from. */
static bool of_backward(const cse_node *node)
{
    if (node->backward)
        return true;
    return node->input_count > 0 && strcmp(node->op->name, "partial") == 0 &&
           node->inputs[0]->backward;
}

cse_status cse_segments_find(const cse_graph *graph, cse_dtype payload, cse_segment *items,
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
                                .rounded = payload == CSE_BFLOAT16 && of_backward(node) };
        if (node->dtype != CSE_FLOAT32 || node->offset_bytes % 64 || segment.first < 0 ||
            segment.count < 0 || segment.count > elements - segment.first)
            return cse_fail(CSE_INTERNAL,
                            "node %u (%s): its place among a leaf's values is wrong: %lld float32 "
                            "values at byte %lld of %lld",
                            node->id, node->op->name, (long long)segment.count,
                            (long long)node->offset_bytes, (long long)elements * 4);
        items[found++] = segment;
    }
    qsort(items, (size_t)found, sizeof *items, compare_segments);
    for (int i = 0; i < found; i++) {
        cse_segment next = items[i];
        cse_segment *tail = last >= 0 ? &items[last] : NULL;
        if (tail && next.first == tail->first && next.count == tail->count) {
            tail->rounded |= next.rounded; /* one place under two nodes: an elided identity */
            continue;
        }
        if (tail && next.first < tail->first + tail->count)
            return cse_fail(CSE_INTERNAL, "two values of a leaf overlap at byte %lld",
                            (long long)next.first * 4);
        items[++last] = next;
    }
    /* Joined only now, when the kinds are known. The gaps are padding: zero in every buffer. */
    found = last + 1;
    last = -1;
    for (int i = 0; i < found; i++) {
        cse_segment *tail = last >= 0 ? &items[last] : NULL;
        if (tail && tail->rounded == items[i].rounded &&
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

/* Packed values of the segment starting at float `first`, from its element `skip` on. */
static uint16_t *packed(unsigned char *bytes, int64_t first, int64_t skip)
{
    return (uint16_t *)(void *)(bytes + 4 * first) + skip;
}

static const uint16_t *const_packed(const unsigned char *bytes, int64_t first, int64_t skip)
{
    return (const uint16_t *)(const void *)(bytes + 4 * first) + skip;
}

void cse_piece_set(cse_segments segments, unsigned char *piece, const unsigned char *leaf)
{
    for (int i = 0; i < segments.count; i++) {
        cse_segment s = segments.items[i];
        if (s.rounded)
            pack(packed(piece, s.first, 0), const_floats(leaf, s.first), s.count);
        else
            memcpy(floats(piece, s.first), const_floats(leaf, s.first), (size_t)s.count * 4);
    }
}

void cse_piece_add_leaf(cse_segments segments, unsigned char *piece, const unsigned char *leaf)
{
    for (int i = 0; i < segments.count; i++) {
        cse_segment s = segments.items[i];
        if (s.rounded)
            add_leaf_packed(packed(piece, s.first, 0), const_floats(leaf, s.first), s.count);
        else
            add_exact(floats(piece, s.first), const_floats(leaf, s.first), s.count);
    }
}

void cse_piece_add(cse_segments segments, unsigned char *left, const unsigned char *right)
{
    for (int i = 0; i < segments.count; i++) {
        cse_segment s = segments.items[i];
        if (s.rounded)
            add_packed(packed(left, s.first, 0), const_packed(right, s.first, 0), s.count);
        else
            add_exact(floats(left, s.first), const_floats(right, s.first), s.count);
    }
}

typedef struct join_planner {
    cse_join *join;
    cse_piece_lookup *lookup;
    void *self;
} join_planner;

static void plan_node(join_planner *planner, cse_tree_node node, int depth, cse_join_kind kind)
{
    cse_join *join = planner->join;
    const unsigned char *piece = planner->lookup(planner->self, node);
    if (piece) {
        join->steps[join->count++] = (cse_join_step){ kind, depth, piece };
        return;
    }
    int own = kind == CSE_JOIN_ADD ? depth + 1 : depth;
    plan_node(planner, cse_tree_left(node), own, CSE_JOIN_LOAD);
    plan_node(planner, cse_tree_right(node), own, CSE_JOIN_ADD);
    if (kind == CSE_JOIN_ADD)
        join->steps[join->count++] = (cse_join_step){ CSE_JOIN_SUM, depth, NULL };
}

void cse_join_plan(cse_join *join, int leaves, cse_piece_lookup *lookup, void *self)
{
    join_planner planner = { join, lookup, self };
    join->count = 0;
    plan_node(&planner, cse_tree_root(leaves), 0, CSE_JOIN_LOAD);
}

/* n elements of segment s from its element `skip` on; block 0 is the output itself. */
static void join_block(const cse_join *join, cse_segment s, int64_t skip, int64_t n, float *output)
{
    for (int i = 0; i < join->count; i++) {
        cse_join_step step = join->steps[i];
        float *y = step.depth == 0 ? output : join->blocks + (int64_t)step.depth * CSE_JOIN_BLOCK;
        if (step.kind == CSE_JOIN_SUM) {
            const float *x = join->blocks + (int64_t)(step.depth + 1) * CSE_JOIN_BLOCK;
            (s.rounded ? add_rounded : add_exact)(y, x, n);
        } else if (s.rounded) {
            const uint16_t *x = const_packed(step.piece, s.first, skip);
            (step.kind == CSE_JOIN_LOAD ? unpack : add_unpacked)(y, x, n);
        } else {
            const float *x = const_floats(step.piece, s.first + skip);
            if (step.kind == CSE_JOIN_LOAD)
                memcpy(y, x, (size_t)n * sizeof *y);
            else
                add_exact(y, x, n);
        }
    }
}

void cse_join_run(const cse_join *join, cse_segments segments, unsigned char *reduced,
                  int64_t first, int64_t end)
{
    for (int i = 0; i < segments.count; i++) {
        cse_segment s = segments.items[i];
        int64_t from = s.first > first ? s.first : first;
        int64_t to = s.first + s.count < end ? s.first + s.count : end;
        for (int64_t at = from; at < to; at += CSE_JOIN_BLOCK) {
            int64_t n = to - at < CSE_JOIN_BLOCK ? to - at : CSE_JOIN_BLOCK;
            join_block(join, s, at - s.first, n, floats(reduced, at));
        }
    }
}
