/* Initial values of states: element e of a state is a function of (seed, the state's name, e)
 * alone, so that it depends neither on the order of declaration nor on the number of processes. */
#include <math.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/code/execute/execute.h"

/* A bound of a tenth of the deviation is met by 8 % of the draws; the limit ends the loop for one
 * that no caller should have let through. */
enum { MOST_DRAWS = 10000 };

static double standard_normal(uint64_t key, uint32_t element, uint32_t draw)
{
    uint32_t words[4], counter[4] = { element, draw, 0, 0 };
    cse_philox(key, counter, words);
    return cse_normal_from_bits(words[0], words[1]);
}

static double draw(const cse_initializer *init, uint64_t key, uint32_t element)
{
    uint32_t words[4], counter[4] = { element, 0, 0, 0 };
    double normal;
    switch (init->kind) {
    case CSE_INIT_UNIFORM:
        cse_philox(key, counter, words);
        return init->a + (init->b - init->a) * (double)cse_uniform_from_bits(words[0]);
    case CSE_INIT_NORMAL:
        return init->a + init->b * standard_normal(key, element, 0);
    case CSE_INIT_TRUNCATED_NORMAL:
        normal = standard_normal(key, element, 0);
        for (uint32_t again = 1; fabs(normal) > 2.0; again++)
            normal = standard_normal(key, element, again);
        return init->a + init->b * normal;
    case CSE_INIT_NORMAL_WITHIN:
        normal = standard_normal(key, element, 0);
        for (uint32_t again = 1; fabs(normal * init->a) > init->b && again < MOST_DRAWS; again++)
            normal = standard_normal(key, element, again);
        return fmax(-init->b, fmin(init->b, init->a * normal));
    default:
        return init->a;
    }
}

/* Whether the last two indices of an element are equal. */
static bool is_diagonal(cse_shape shape, int64_t element)
{
    if (shape.rank < 2)
        return element == 0;
    const int64_t rows = shape.dims[shape.rank - 2], columns = shape.dims[shape.rank - 1];
    return element / columns % rows == element % columns;
}

/* All elements are the same, as those of moments are: most states of a run, so that it counts. */
static bool fill_same(const cse_state_entry *state, int64_t elements, void *values)
{
    const double value = state->initializer.a;
    switch (state->initializer.kind) {
    case CSE_INIT_EYE:
    case CSE_INIT_UNIFORM:
    case CSE_INIT_NORMAL:
    case CSE_INIT_TRUNCATED_NORMAL:
    case CSE_INIT_NORMAL_WITHIN:
        return false;
    default:
        break;
    }
    if (value == 0 && !signbit(value))
        memset(values, 0, (size_t)elements * cse_dtype_size(state->dtype));
    else
        for (int64_t e = 0; e < elements; e++)
            cse_write_element(state->dtype, values, e, value);
    return true;
}

void cse_states_initialize(const cse_graph *graph, uint64_t seed, unsigned char *states)
{
    for (int s = 0; s < graph->state_count; s++) {
        const cse_state_entry *state = &graph->states[s];
        int64_t elements = cse_shape_elements(state->shape);
        if (state->constant != NULL) {
            memcpy(states + state->offset_bytes, state->constant,
                   (size_t)elements * cse_dtype_size(state->dtype));
            continue;
        }
        if (fill_same(state, elements, states + state->offset_bytes))
            continue;
        uint64_t key = seed * 0x9E3779B97F4A7C15u ^ cse_hash_string(state->name);
        for (int64_t e = 0; e < elements; e++) {
            double value = state->initializer.kind == CSE_INIT_EYE
                               ? is_diagonal(state->shape, e)
                               : draw(&state->initializer, key, (uint32_t)e);
            cse_write_element(state->dtype, states + state->offset_bytes, e, value);
        }
    }
}
