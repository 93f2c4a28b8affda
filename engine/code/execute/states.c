/* Initial values of states: element e of a state is a function of (seed, the state's name, e)
 * alone, so that it depends neither on the order of declaration nor on the number of processes. */
#include <math.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/code/execute/execute.h"
#include "engine/code/execute/initial_draws.h"

/* Whether the last two indices of an element are equal. */
static bool is_diagonal(cse_shape shape, int64_t element)
{
    if (shape.rank < 2)
        return element == 0;
    const int64_t rows = shape.dims[shape.rank - 2], columns = shape.dims[shape.rank - 1];
    return element / columns % rows == element % columns;
}

static bool draws(const cse_initializer *init)
{
    return init->kind == CSE_INIT_UNIFORM || init->kind == CSE_INIT_NORMAL ||
           init->kind == CSE_INIT_TRUNCATED_NORMAL || init->kind == CSE_INIT_NORMAL_WITHIN;
}

bool cse_initial_zeros(const cse_initializer *init)
{
    return init->kind != CSE_INIT_EYE && !draws(init) && init->a == 0 && !signbit(init->a);
}

void cse_state_initialize_part(const cse_state_entry *state, uint64_t seed, int64_t first,
                               int64_t count, void *values)
{
    const cse_initializer *init = &state->initializer;
    const uint64_t key = seed * 0x9E3779B97F4A7C15u ^ cse_hash_string(state->name);
    if (draws(init) && state->dtype == CSE_FLOAT32) {
        cse_initial_draws(init, key, first, count, values);
        return;
    }
    for (int64_t e = 0; e < count; e++) {
        const double value = init->kind == CSE_INIT_EYE ? is_diagonal(state->shape, first + e)
                             : draws(init) ? cse_initial_draw(init, key, (uint32_t)(first + e))
                                           : init->a;
        cse_write_element(state->dtype, values, e, value);
    }
}

/* All elements are the same, as those of moments are: most states of a run, so that it counts that
 * zeros are there already. */
void cse_states_initialize(const cse_graph *graph, uint64_t seed, unsigned char *states)
{
    for (int s = 0; s < graph->state_count; s++) {
        const cse_state_entry *state = &graph->states[s];
        const int64_t elements = cse_shape_elements(state->shape);
        unsigned char *values = states + state->offset_bytes;
        if (state->constant != NULL)
            memcpy(values, state->constant, (size_t)elements * cse_dtype_size(state->dtype));
        else if (!cse_initial_zeros(&state->initializer))
            cse_state_initialize_part(state, seed, 0, elements, values);
    }
}
