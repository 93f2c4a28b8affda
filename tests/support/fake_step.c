/* Gradients are products and sums of floats of very different sizes, so that another order of
 * addition gives other bits. */
#include "tests/support/fake_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/float_mode.h"
#include "engine/base/random.h"
#include "engine/base/types/dtype.h"

enum { BATCH = 48, SEED = 77 };
enum { GROUP_LARGE = 2, GROUP_LOSS, GROUP_SMALL, GROUPS, GROUP_WEIGHTS = GROUPS };

struct fake_step {
    cse_executable executable; /* first: cast back from it */
    cse_graph graph;
    cse_microbatch_source source;
    bool clipped;
    cse_op partial, value;
    cse_node *sums[3], *serial;
    cse_reduction_entry reductions[3];
    cse_node nodes[16];
    cse_node *node_list[16];
    cse_node *assigns[2][2], *reads[2];
    cse_group groups[6]; /* two of UPDATE, three of REPLICA, one of WEIGHTS where it has a table */
    cse_state_entry states[4];
    int64_t at_large, at_small, at_loss; /* bytes in a partial sum */
    int large, small;
};

_Atomic(fake_point_function *) fake_point_hook;

static void pass(fake_point point)
{
    fake_point_function *hook = atomic_load_explicit(&fake_point_hook, memory_order_relaxed);
    if (hook)
        hook(point);
}

static float hashed(uint64_t a, uint64_t b)
{
    uint64_t x = (a + 1) * 0x9E3779B97F4A7C15u ^ (b + 1) * 0xC2B2AE3D27D4EB4Fu;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 32;
    return (float)(x >> 40) * 0x1p-24f - 0.5f;
}

static float *at(unsigned char *base, int64_t offset)
{
    return (float *)(void *)(base + offset);
}

static void replica(cse_executable *self, cse_frame *frame)
{
    fake_step *step = (fake_step *)(void *)self;
    const float *x = at(frame->base[CSE_SPACE_INPUT], 0);
    const float *large = at(frame->base[CSE_SPACE_STATE], step->states[0].offset_bytes);
    const float *small = at(frame->base[CSE_SPACE_STATE], step->states[2].offset_bytes);
    float *partial = at(frame->base[CSE_SPACE_PARTIAL], 0);
    float bias = hashed((uint64_t)frame->step, frame->seed + (uint64_t)frame->first_sample);
    for (int i = 0; i < step->large; i++)
        partial[step->at_large / 4 + i] = large[i] * x[i % BATCH] + x[(i * 7) % BATCH] * 1e3f;
    cse_frame_note_group(frame, CSE_PART_REPLICA, GROUP_LARGE);
    float loss = 0;
    for (int i = 0; i < BATCH; i++)
        loss += x[i] * large[i % step->large] + small[i % step->small];
    partial[step->at_loss / 4] = loss + 257; /* a sum that bfloat16 could not hold */
    cse_frame_note_group(frame, CSE_PART_REPLICA, GROUP_LOSS);
    for (int i = 0; i < step->small; i++)
        partial[step->at_small / 4 + i] = small[i] + x[i % BATCH] * 0.3f + bias;
    cse_frame_note_group(frame, CSE_PART_REPLICA, GROUP_SMALL);
}

static void weights(cse_executable *self, cse_frame *frame)
{
    fake_step *step = (fake_step *)(void *)self;
    const float *reduced = at(frame->base[CSE_SPACE_REDUCED], 0);
    float sum = 0;
    for (int i = 0; i < step->large && step->clipped; i++)
        sum += reduced[step->at_large / 4 + i] * reduced[step->at_large / 4 + i];
    for (int i = 0; i < step->small && step->clipped; i++)
        sum += reduced[step->at_small / 4 + i] * reduced[step->at_small / 4 + i];
    float factor = 1.0f / (1.0f + sqrtf(sum));
    at(frame->base[CSE_SPACE_WEIGHTS], 0)[0] = factor;
    at(frame->base[CSE_SPACE_FETCH], 0)[0] = reduced[step->at_loss / 4];
    at(frame->base[CSE_SPACE_FETCH], 0)[1] = factor;
}

static void update_line(fake_step *step, cse_frame *frame, int group, int64_t first, int64_t count)
{
    float *w = at(frame->base[CSE_SPACE_STATE], step->states[2 * group].offset_bytes) + first;
    float *v = at(frame->base[CSE_SPACE_STATE], step->states[2 * group + 1].offset_bytes) + first;
    const float *g =
        at(frame->base[CSE_SPACE_REDUCED], group == 0 ? step->at_large : step->at_small) + first;
    float factor = at(frame->base[CSE_SPACE_WEIGHTS], 0)[0];
    for (int64_t i = 0; i < count; i++) {
        if (i == count / 2)
            pass(FAKE_HALF_LINE);
        v[i] = 0.9f * v[i] + factor * g[i];
        w[i] = w[i] - 0.1f * v[i];
    }
}

static void update(cse_executable *self, cse_frame *frame, int group, const int64_t lines[2],
                   const cse_undo_log *undo)
{
    fake_step *step = (fake_step *)(void *)self;
    unsigned char *states = frame->base[CSE_SPACE_STATE];
    for (int64_t line = lines[0]; line < lines[1]; line++) {
        int64_t element = line * CSE_LINE_ELEMENTS;
        int64_t count = step->graph.groups[group].elements - element;
        if (count > CSE_LINE_ELEMENTS)
            count = CSE_LINE_ELEMENTS;
        if (undo) {
            unsigned char *old = undo->lines[line & 1];
            pass(FAKE_BEFORE_UNDO);
            memcpy(old, at(states, step->states[2 * group].offset_bytes) + element,
                   (size_t)count * 4);
            pass(FAKE_HALF_UNDO);
            memcpy(old + CSE_LINE_ELEMENTS * 4,
                   at(states, step->states[2 * group + 1].offset_bytes) + element,
                   (size_t)count * 4);
            __asm__ volatile("" ::: "memory");
            pass(FAKE_UNDO_COPIED);
            *undo->progress = undo->dirty_base + (uint64_t)line;
            __asm__ volatile("" ::: "memory");
            pass(FAKE_MARKED);
        }
        update_line(step, frame, group, element, count);
        __asm__ volatile("" ::: "memory");
        pass(FAKE_LINE_DONE);
    }
}

static cse_status read_source(void *self, int64_t step, int64_t m, void *bytes)
{
    const fake_step *fake = self;
    float *x = bytes;
    uint64_t q = (uint64_t)(step * fake->graph.microbatch_count + m);
    for (int i = 0; i < BATCH; i++)
        x[i] = hashed(q, (uint64_t)i);
    return CSE_OK;
}

static int64_t field(int64_t *total, int64_t elements)
{
    int64_t offset = *total;
    *total += (elements * 4 + 63) / 64 * 64;
    return offset;
}

static cse_node *add_node(fake_step *step, const cse_op *op, cse_space space, int64_t offset,
                          int64_t elements)
{
    cse_node *node = &step->nodes[step->graph.node_count];
    step->node_list[step->graph.node_count] = node;
    *node = (cse_node){ .id = (uint32_t)step->graph.node_count,
                        .op = op,
                        .shape = cse_shape_of(elements),
                        .dtype = CSE_FLOAT32,
                        .space = space,
                        .offset_bytes = offset,
                        .scope = "" };
    step->graph.node_count++;
    return node;
}

static void add_groups(fake_step *step)
{
    const int sizes[2] = { step->large, step->small };
    int64_t line = 0;
    for (int g = 0; g < 2; g++) {
        for (int s = 0; s < 2; s++) {
            cse_node *node = add_node(step, &cse_op_assign, CSE_SPACE_STATE, 0, sizes[g]);
            node->attributes.integers[0] = 2 * g + s;
            step->assigns[g][s] = node;
            step->states[2 * g + s].offset_bytes =
                field(&step->graph.space_bytes[CSE_SPACE_STATE], sizes[g]);
            node->offset_bytes = step->states[2 * g + s].offset_bytes;
        }
        step->groups[g] = (cse_group){ .kind = CSE_GROUP_LOOP,
                                       .part = CSE_PART_UPDATE,
                                       .nodes = step->assigns[g],
                                       .node_count = 2,
                                       .elements = sizes[g],
                                       .first_line = line };
        line += (sizes[g] + CSE_LINE_ELEMENTS - 1) / CSE_LINE_ELEMENTS;
    }
}

static fake_step *make_step(int microbatches, int large, int small, bool clipped)
{
    fake_step *step = cse_calloc(1, sizeof *step);
    cse_graph *graph = &step->graph;
    step->clipped = clipped;
    step->large = large;
    step->small = small;
    step->partial.name = "partial";
    step->value.name = "multiply";
    graph->microbatch_count = microbatches;
    graph->micro_batch_size = BATCH;
    graph->nodes = step->node_list;
    graph->groups = step->groups;
    graph->group_count = GROUPS;
    graph->states = step->states;
    graph->state_count = 4;
    int64_t *partial_bytes = &graph->space_bytes[CSE_SPACE_PARTIAL];
    if (!clipped) /* what the serial program reads is first */
        step->at_loss = field(partial_bytes, 1);
    step->at_large = field(partial_bytes, large);
    if (clipped)
        step->at_loss = field(partial_bytes, 1);
    step->at_small = field(partial_bytes, small);
    add_node(step, &step->partial, CSE_SPACE_PARTIAL, step->at_small, small)->backward = true;
    add_node(step, &step->partial, CSE_SPACE_PARTIAL, step->at_loss, 1);
    add_node(step, &step->partial, CSE_SPACE_PARTIAL, step->at_large, large)->backward = true;
    add_node(step, &step->value, CSE_SPACE_PARTIAL, step->at_large, large);
    static const int groups[] = { GROUP_SMALL, GROUP_LOSS, GROUP_LARGE, GROUP_LARGE };
    for (int n = 0; n < graph->node_count; n++)
        step->nodes[n].group = groups[n];
    for (int g = GROUP_LARGE; g < GROUPS; g++)
        step->groups[g] = (cse_group){ .kind = CSE_GROUP_LOOP, .part = CSE_PART_REPLICA };
    add_groups(step);
    /* Of the states, the forward pass reads the weights alone. */
    for (int g = 0; g < 2; g++) {
        cse_node *read = add_node(step, &cse_op_state, CSE_SPACE_STATE,
                                  step->states[2 * g].offset_bytes, g == 0 ? large : small);
        read->attributes.integers[0] = 2 * g;
        read->group = -1;
        step->reads[g] = read;
    }
    step->nodes[0].part = CSE_PART_REPLICA;
    step->nodes[0].inputs = step->reads;
    step->nodes[0].input_count = 2;
    graph->space_bytes[CSE_SPACE_REDUCED] = *partial_bytes;
    graph->space_bytes[CSE_SPACE_INPUT] = BATCH * 4;
    graph->space_bytes[CSE_SPACE_WEIGHTS] = 64;
    graph->space_bytes[CSE_SPACE_FETCH] = 64;
    step->executable = (cse_executable){
        .graph = graph, .kind = "fake", .replica = replica, .weights = weights, .update = update
    };
    step->source = (cse_microbatch_source){ .self = step, .read = read_source };
    return step;
}

/* The table of the sums, and who reads which: the serial program the loss, each update its own. */
static void add_readers(fake_step *step)
{
    static const int partials[3] = { 2, 0, 1 }; /* large, small, loss: as they were added */
    const int64_t sizes[3] = { step->large, step->small, 1 };
    for (int r = 0; r < 3; r++) {
        cse_node *partial = &step->nodes[partials[r]];
        cse_node *sum =
            add_node(step, &cse_op_batch_sum, CSE_SPACE_REDUCED, partial->offset_bytes, sizes[r]);
        sum->group = -1;
        step->sums[r] = sum;
        step->reductions[r] =
            (cse_reduction_entry){ partial, sum, .offset_bytes = partial->offset_bytes };
        if (r == 2)
            break;
        step->assigns[r][0]->inputs = &step->sums[r];
        step->assigns[r][0]->input_count = 1;
    }
    step->serial = add_node(step, &step->value, CSE_SPACE_WEIGHTS, 0, 1);
    step->serial->group = GROUP_WEIGHTS;
    step->serial->inputs = &step->sums[2];
    step->serial->input_count = 1;
    step->groups[GROUP_WEIGHTS] = (cse_group){ .kind = CSE_GROUP_LOOP,
                                               .part = CSE_PART_WEIGHTS,
                                               .nodes = &step->serial,
                                               .node_count = 1,
                                               .elements = 1 };
    step->graph.reductions = step->reductions;
    step->graph.reduction_count = 3;
    step->graph.group_count = GROUPS + 1;
}

fake_step *fake_step_new(int microbatches, int large, int small)
{
    return make_step(microbatches, large, small, true);
}

fake_step *fake_step_new_unclipped(int microbatches, int large, int small)
{
    fake_step *step = make_step(microbatches, large, small, false);
    add_readers(step);
    return step;
}

void fake_step_destroy(fake_step **step)
{
    free(*step);
    *step = NULL;
}

cse_graph *fake_step_graph(fake_step *step)
{
    return &step->graph;
}

cse_executable *fake_step_executable(fake_step *step)
{
    return &step->executable;
}

const cse_microbatch_source *fake_step_source(fake_step *step)
{
    return &step->source;
}

unsigned char *fake_step_states(const fake_step *step)
{
    const size_t bytes = (size_t)step->graph.space_bytes[CSE_SPACE_STATE];
    unsigned char *states = cse_aligned_calloc(bytes);
    for (int s = 0; s < 4; s += 2) {
        float *w = at(states, step->states[s].offset_bytes);
        for (int i = 0; i < (s == 0 ? step->large : step->small); i++)
            w[i] = hashed(SEED + (uint64_t)s, (uint64_t)i);
    }
    return states;
}

/* ---- the same step without a cluster ---- */

const cse_rounding fake_payloads[FAKE_PAYLOADS] = { { CSE_FLOAT32, false },
                                                    { CSE_BFLOAT16, false },
                                                    { CSE_BFLOAT16, true },
                                                    { CSE_FLOAT16, false },
                                                    { CSE_CBFLOAT16, false } };

typedef struct reference_sum {
    cse_rounding payload;
    cse_frame *frame;
} reference_sum;

/* The tensors' sums have no names: both draw from stream 0, or from that of their places in a table
 * of sums. */
static void round_gradients(const fake_step *step, const reference_sum *of, int lo, int n,
                            float *partial)
{
    const int counts[] = { step->large, step->small };
    float *const tensors[] = { partial + step->at_large / 4, partial + step->at_small / 4 };
    for (int t = 0; t < 2; t++) {
        const uint64_t key = cse_hash_key(SEED, of->frame->step, step->clipped ? 0 : (uint32_t)t,
                                          (uint32_t)lo, (uint32_t)n);
        for (int i = 0; i < counts[t]; i++) {
            float *x = &tensors[t][i];
            uint16_t bits = of->payload.stochastic
                                ? cse_round_stochastic_to_bits(of->payload.format, *x,
                                                               cse_hash_bits(key, (uint32_t)i))
                                : cse_round_to_bits(of->payload.format, *x);
            *x = cse_float_from_format(of->payload.format, bits);
        }
    }
}

/* Sum of the microbatch gradients [lo, lo + n): the definition of the reduction tree. */
static float *tree_sum(fake_step *step, const reference_sum *of, int lo, int n)
{
    cse_frame *frame = of->frame;
    const size_t bytes = (size_t)step->graph.space_bytes[CSE_SPACE_PARTIAL];
    float *sum;
    if (n == 1) {
        float input[BATCH];
        sum = cse_aligned_calloc(bytes);
        read_source(step, frame->step, lo, input);
        frame->first_sample = (int64_t)lo * BATCH;
        frame->base[CSE_SPACE_INPUT] = (unsigned char *)input;
        frame->base[CSE_SPACE_PARTIAL] = (unsigned char *)sum;
        replica(&step->executable, frame);
    } else {
        int left = 1;
        while (left * 2 < n)
            left *= 2;
        sum = tree_sum(step, of, lo, left);
        float *right = tree_sum(step, of, lo + left, n - left);
        for (size_t i = 0; i < bytes / 4; i++)
            sum[i] = sum[i] + right[i];
        free(right);
    }
    if (of->payload.format != CSE_FLOAT32)
        round_gradients(step, of, lo, n, sum);
    return sum;
}

void fake_step_reference(fake_step *step, cse_rounding payload, const int64_t steps[2],
                         unsigned char *states, float (*fetched)[FAKE_FETCHES])
{
    _Alignas(64) unsigned char factor[64], fetch[64];
    cse_set_float_mode();
    for (int64_t s = steps[0]; s < steps[1]; s++) {
        cse_frame frame = { .seed = SEED, .step = s };
        frame.base[CSE_SPACE_STATE] = states;
        frame.base[CSE_SPACE_WEIGHTS] = factor;
        frame.base[CSE_SPACE_FETCH] = fetch;
        float *sum =
            tree_sum(step, &(reference_sum){ payload, &frame }, 0, step->graph.microbatch_count);
        frame.base[CSE_SPACE_REDUCED] = (unsigned char *)sum;
        weights(&step->executable, &frame);
        for (int g = 0; g < 2; g++) {
            const int64_t lines[2] = { 0, (step->groups[g].elements + CSE_LINE_ELEMENTS - 1) /
                                              CSE_LINE_ELEMENTS };
            update(&step->executable, &frame, g, lines, NULL);
        }
        memcpy(fetched[s - steps[0]], fetch, sizeof fetched[0]);
        free(sum);
    }
}
