/* Rotary positions of the decoder, and the ways in which those beyond the length that a model was
 * trained with are scaled: linear, llama3, dynamic (NTK-aware), yarn (Peng et al. 2023) and
 * longrope (Ding et al. 2024). */
#include <math.h>

#include "engine/nn/models/decoder_positions.h"
#include "engine/nn/models/rotary.h"

static const char arguments_name[] = "pos_scaling_extra_args";

#define ORIGINAL_LENGTH(default_)                                                          \
    CSE_DECODER_RANGE("original_max_position_embeddings", INTEGER, (default_), 1, 1 << 30, \
                      "length that the model was trained with")
#define ATTENTION_FACTOR                                             \
    CSE_DECODER_RANGE("attention_factor", NUMBER, "null", 1e-6, 1e6, \
                      "of cosines and sines; null: by the factor of lengths")

static bool has_type(const cse_settings *s, const char *type)
{
    return cse_decoder_is_text(s, "pos_scaling_type", type);
}

static cse_status read_arguments(const cse_settings *s, const cse_setting *table,
                                 cse_settings **extra)
{
    return cse_settings_parse(table, arguments_name, cse_settings_text(s, arguments_name), extra);
}

static double number_or(const cse_settings *s, const char *name, double otherwise)
{
    return cse_settings_has(s, name) ? cse_settings_number(s, name) : otherwise;
}

static cse_status read_llama3(const cse_settings *s, cse_rotary_options *rotary)
{
    static const cse_setting table[] = {
        CSE_DECODER_RANGE("low_freq_factor", NUMBER, "1", 0, 1e9, "turns of pairs scaled in full"),
        CSE_DECODER_RANGE("high_freq_factor", NUMBER, "4", 0, 1e9, "turns of pairs not scaled"),
        ORIGINAL_LENGTH("8192"),
        { .name = NULL },
    };
    cse_settings *extra = NULL;
    CSE_TRY(read_arguments(s, table, &extra));
    rotary->low_frequency = cse_settings_number(extra, "low_freq_factor");
    rotary->high_frequency = cse_settings_number(extra, "high_freq_factor");
    rotary->original_positions =
        (double)cse_settings_integer(extra, "original_max_position_embeddings");
    cse_settings_destroy(&extra);
    return rotary->high_frequency > rotary->low_frequency
               ? CSE_OK
               : cse_fail(CSE_CONFIG,
                          "pos_scaling_extra_args (%s): high_freq_factor must be above "
                          "low_freq_factor",
                          cse_settings_origin(s, "pos_scaling_extra_args"));
}

/* ---- yarn ---- */

/* The pair that turns so many times in the original length. */
static double pair_of_turns(double turns, const cse_rotary_options *rotary, double length)
{
    return (double)rotary->size * log(length / (turns * 2 * acos(-1.0))) / (2 * log(rotary->base));
}

/* Fast pairs stay as they are, slow ones are divided by `factor`, those between in part. */
static void make_yarn_factors(const cse_settings *extra, const cse_rotary_options *rotary,
                              double factor, double *factors)
{
    const double length = (double)cse_settings_integer(extra, "original_max_position_embeddings");
    double low = pair_of_turns(cse_settings_number(extra, "beta_fast"), rotary, length);
    double high = pair_of_turns(cse_settings_number(extra, "beta_slow"), rotary, length);
    if (cse_settings_bool(extra, "truncate")) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, (double)(rotary->size - 1));
    high = low == high ? high + 0.001 : high;
    for (int64_t i = 0; i < rotary->size / 2; i++) {
        const double slow = fmin(fmax(((double)i - low) / (high - low), 0), 1);
        factors[i] = 1 / (slow / factor + 1 - slow);
    }
}

static double magnitude_of(double factor, double share)
{
    return factor <= 1 ? 1 : 0.1 * share * log(factor) + 1;
}

static cse_status read_yarn(const cse_settings *s, cse_decoder *self, cse_rotary_options *rotary)
{
    static const cse_setting table[] = {
        ORIGINAL_LENGTH("8192"),
        ATTENTION_FACTOR,
        CSE_DECODER_RANGE("beta_fast", NUMBER, "32", 1e-6, 1e9, "turns of pairs not scaled"),
        CSE_DECODER_RANGE("beta_slow", NUMBER, "1", 1e-6, 1e9, "turns of pairs scaled in full"),
        CSE_DECODER_RANGE("mscale", NUMBER, "null", 0, 1e6,
                          "with mscale_all_dim: attention_factor is their quotient"),
        CSE_DECODER_RANGE("mscale_all_dim", NUMBER, "null", 0, 1e6, "see mscale"),
        CSE_DECODER_ROW("truncate", BOOL, "true", "bounds between pairs are whole numbers"),
        { .name = NULL },
    };
    const double factor = rotary->scaling;
    cse_settings *extra = NULL;
    CSE_TRY(read_arguments(s, table, &extra));
    const double share = number_or(extra, "mscale", 0), all = number_or(extra, "mscale_all_dim", 0);
    const double magnitude = share > 0 && all > 0
                                 ? magnitude_of(factor, share) / magnitude_of(factor, all)
                                 : magnitude_of(factor, 1);
    rotary->magnitude = number_or(extra, "attention_factor", magnitude);
    make_yarn_factors(extra, rotary, factor, self->rotary_factors[0]);
    rotary->factors = self->rotary_factors[0];
    rotary->scaling = 1;
    cse_settings_destroy(&extra);
    return CSE_OK;
}

/* ---- longrope ---- */

static cse_status read_list(const cse_settings *extra, const char *name, int64_t pairs,
                            double *factors)
{
    const int count = cse_settings_has(extra, name) ? cse_settings_count(extra, name) : 0;
    if (count != pairs)
        return cse_fail(CSE_CONFIG,
                        "%s.%s has %d numbers; longrope needs one for each pair of rotated "
                        "channels, %lld",
                        arguments_name, name, count, (long long)pairs);
    for (int i = 0; i < count; i++)
        factors[i] = cse_settings_number_at(extra, name, i);
    return CSE_OK;
}

static cse_status read_longrope(const cse_settings *s, cse_decoder *self,
                                cse_rotary_options *rotary)
{
    static const cse_setting table[] = {
        CSE_DECODER_RANGE("short_factor", NUMBER_LIST, "null", 1e-9, 1e9,
                          "what the speed of each pair is divided by"),
        CSE_DECODER_RANGE("long_factor", NUMBER_LIST, "null", 1e-9, 1e9,
                          "the same of samples longer than original_max_position_embeddings"),
        ORIGINAL_LENGTH("4096"),
        CSE_DECODER_RANGE("factor", NUMBER, "null", 1e-6, 1e9,
                          "of lengths; null: max_position_embeddings over the original one"),
        ATTENTION_FACTOR,
        { .name = NULL },
    };
    cse_settings *extra = NULL;
    if (rotary->scaling != 1)
        return cse_fail(CSE_CONFIG,
                        "pos_scaling_factor (%s) is %g; accepted with pos_scaling_type: longrope, "
                        "whose factors are in pos_scaling_extra_args: 1",
                        cse_settings_origin(s, "pos_scaling_factor"), rotary->scaling);
    CSE_TRY(read_arguments(s, table, &extra));
    cse_status status = read_list(extra, "short_factor", rotary->size / 2, self->rotary_factors[0]);
    if (status == CSE_OK)
        status = read_list(extra, "long_factor", rotary->size / 2, self->rotary_factors[1]);
    const int64_t original = cse_settings_integer(extra, "original_max_position_embeddings");
    const double longest = (double)cse_settings_integer(s, "max_position_embeddings");
    const double factor = number_or(extra, "factor", longest / (double)original);
    const double magnitude =
        factor <= 1 || original < 2 ? 1 : sqrt(1 + log(factor) / log((double)original));
    rotary->magnitude = number_or(extra, "attention_factor", magnitude);
    rotary->factors = self->rotary_factors[0];
    rotary->long_factors = self->rotary_factors[1];
    rotary->long_from = original;
    cse_settings_destroy(&extra);
    return status;
}

/* ---- any kind ---- */

static cse_status check_without_rotation(const cse_settings *s)
{
    const double scaling = cse_settings_number(s, "pos_scaling_factor");
    return scaling == 1 ? CSE_OK
                        : cse_fail(CSE_CONFIG,
                                   "pos_scaling_factor (%s) is %g; accepted other than 1 with "
                                   "position_embedding_type: rotary alone",
                                   cse_settings_origin(s, "pos_scaling_factor"), scaling);
}

int64_t cse_decoder_longest_sample(const cse_settings *s)
{
    const int64_t longest = cse_settings_integer(s, "max_position_embeddings");
    return has_type(s, "dynamic") && cse_decoder_is_text(s, "position_embedding_type", "rotary")
               ? (int64_t)((double)longest * fmax(1, cse_settings_number(s, "pos_scaling_factor")))
               : longest;
}

cse_status cse_decoder_read_rotary(const cse_settings *s, cse_decoder *self, int64_t head)
{
    cse_attention_module *attention = &self->block.attention;
    cse_rotary_options *rotary = &attention->rotary;
    attention->rotates = cse_decoder_is_text(s, "position_embedding_type", "rotary");
    if (!attention->rotates)
        return check_without_rotation(s);
    CSE_TRY(cse_rotary_read(s, head, rotary));
    rotary->scaling = cse_settings_number(s, "pos_scaling_factor");
    if (has_type(s, "llama3"))
        return read_llama3(s, rotary);
    if (has_type(s, "dynamic")) {
        rotary->dynamic_from = cse_settings_integer(s, "max_position_embeddings");
        rotary->dynamic_factor = rotary->scaling;
        rotary->scaling = 1;
    }
    if ((has_type(s, "yarn") || has_type(s, "longrope")) && rotary->size > 2 * CSE_DECODER_PAIRS)
        return cse_fail(CSE_CONFIG, "rotary_dim (%s) is %lld; %s accepts at most %d",
                        cse_settings_origin(s, "rotary_dim"), (long long)rotary->size,
                        cse_settings_text(s, "pos_scaling_type"), 2 * CSE_DECODER_PAIRS);
    if (has_type(s, "yarn"))
        return read_yarn(s, self, rotary);
    return has_type(s, "longrope") ? read_longrope(s, self, rotary) : CSE_OK;
}
