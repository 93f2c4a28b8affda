/* The scaling of a rotation that another program keeps as a weight: the map's rope_factors names
 * it, and the facts that it depends on. In facts it is rope_freqs.type (linear: there is none, or
 * all of its factors are 1; or llama3), .factor, .low_freq_factor and .high_freq_factor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/map.h"
#include "engine/formats/weights/rope_factors.h"

enum { MOST_PAIRS = 1 << 16 };

static const char *name_of(const cse_map *map, const char *what)
{
    const cse_yaml_node *node =
        map->rope_factors != NULL ? cse_yaml_find(map->rope_factors, what) : NULL;
    return node != NULL && node->kind == CSE_YAML_SCALAR ? node->text : "";
}

static double number_of(const json_t *facts, const char *name, double otherwise)
{
    const json_t *value = cse_map_their_value(facts, name);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static double base_of(const cse_map *map, const json_t *facts)
{
    return number_of(facts, name_of(map, "base"), 10000);
}

static void put_scaling(const cse_map *map, const cse_rope_scaling *scaling, json_t *facts)
{
    json_object_set_new(facts, "rope_freqs.type", json_string("llama3"));
    json_object_set_new(facts, "rope_freqs.factor", json_real(scaling->factor));
    json_object_set_new(facts, "rope_freqs.low_freq_factor", json_real(scaling->low_frequency));
    json_object_set_new(facts, "rope_freqs.high_freq_factor", json_real(scaling->high_frequency));
    json_object_set_new(facts, name_of(map, "length"),
                        json_integer((json_int_t)scaling->original_positions));
}

static bool are_ones(const float *factors, int count)
{
    bool all = true;
    for (int i = 0; i < count && all; i++)
        all = factors[i] == 1;
    return all;
}

cse_status cse_map_note_rope(const cse_map *map, cse_weights *weights, json_t *facts)
{
    const char *name = name_of(map, "weight");
    const int index = map->rope_factors != NULL ? cse_weights_find(weights, name) : -1;
    cse_rope_scaling scaling;
    if (index < 0)
        return CSE_OK;
    const cse_weight *weight = &weights->list[index];
    const int64_t channels = cse_map_integer(map, facts, name_of(map, "channels"));
    const int64_t pairs = weight->shape.rank == 1 ? weight->shape.dims[0] : -1;
    if (pairs < 1 || pairs > MOST_PAIRS || pairs * 2 != channels)
        return cse_fail(CSE_DATA,
                        "%s: '%s' must have one factor for each two of the %lld channels of a head",
                        weights->path, name, (long long)channels);
    float *factors = cse_malloc((size_t)pairs * sizeof *factors);
    cse_status status = cse_weights_read_as(weights, index, CSE_ELEMENT_F32, factors);
    if (status == CSE_OK && !are_ones(factors, (int)pairs)) {
        if (cse_rope_factors_find(factors, (int)pairs, base_of(map, facts),
                                  number_of(facts, name_of(map, "length"), 0), &scaling))
            put_scaling(map, &scaling, facts);
        else
            status = cse_fail(CSE_DATA,
                              "%s: '%s' scales the rotation otherwise than llama3, the one kind of "
                              "such factors that is accepted",
                              weights->path, name);
    }
    free(factors);
    return status;
}

cse_status cse_map_make_rope(const cse_map *map, cse_arena *arena, const json_t *facts,
                             cse_map_rope *rope)
{
    const char *type = json_string_value(json_object_get(facts, "rope_freqs.type"));
    const int64_t channels = cse_map_integer(map, facts, name_of(map, "channels"));
    *rope = (cse_map_rope){ .name = name_of(map, "weight") };
    if (map->rope_factors == NULL || type == NULL || strcmp(type, "llama3") != 0)
        return CSE_OK;
    if (channels < 2 || channels % 2 != 0 || channels > 2 * MOST_PAIRS)
        return cse_fail(CSE_DATA, "%s is %lld, which is no even number of channels",
                        name_of(map, "channels"), (long long)channels);
    const cse_rope_scaling scaling = { number_of(facts, "rope_freqs.factor", 1),
                                       number_of(facts, "rope_freqs.low_freq_factor", 1),
                                       number_of(facts, "rope_freqs.high_freq_factor", 4),
                                       number_of(facts, name_of(map, "length"), 8192) };
    rope->count = (int)(channels / 2);
    rope->factors = cse_arena_alloc(arena, (size_t)rope->count * sizeof *rope->factors);
    cse_rope_factors_make(&scaling, base_of(map, facts), rope->count, rope->factors);
    return CSE_OK;
}

void cse_map_forget_rope(json_t *facts)
{
    static const char *const names[] = { "type", "factor", "low_freq_factor", "high_freq_factor" };
    char name[64];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(name, sizeof name, "rope_freqs.%s", names[i]);
        json_object_del(facts, name);
    }
}

cse_status cse_map_check_frequencies(const cse_map *map, const cse_map_rule *rule,
                                     const json_t *facts, cse_weights *weights, int index)
{
    const cse_weight *weight = &weights->list[index];
    const int64_t pairs = weight->shape.rank == 1 ? weight->shape.dims[0] : -1;
    const int64_t channels = cse_map_integer(map, facts, map->head_size);
    const double base = number_of(facts, rule->frequencies, 10000);
    const double tolerance = weight->element == CSE_ELEMENT_F32 ? 1e-5 : 1e-2;
    bool good = pairs > 0 && pairs <= MOST_PAIRS && pairs * 2 == channels;
    float *values = cse_malloc(good ? (size_t)pairs * sizeof *values : 1);
    cse_status status =
        good ? cse_weights_read_as(weights, index, CSE_ELEMENT_F32, values) : CSE_OK;
    for (int64_t i = 0; i < pairs && good && status == CSE_OK; i++) {
        const double wanted = pow(base, -(double)i / (double)pairs);
        good = fabs((double)values[i] - wanted) <= tolerance * wanted;
    }
    free(values);
    return status != CSE_OK || good
               ? status
               : cse_fail(CSE_DATA,
                          "%s: '%s' has not the frequencies of a rotation of %lld channels with "
                          "%s %g (%s)",
                          weights->path, weight->name, (long long)channels, rule->frequencies, base,
                          map->source);
}
