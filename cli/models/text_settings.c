/* Each option has the range in which its value has a meaning. */
#include "cli/models/text_settings.h"

#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "engine/base/error.h"

enum { MAX_BEAMS = 256 };

static cse_status read_numbers(const cse_command_line *line, cse_text_settings *s)
{
    cse_sampling *sampling = &s->generation.sampling;
    cse_logit_rules *rules = &s->generation.rules;
    const struct {
        const char *name;
        double least, most, *value;
    } rows[] = {
        { "temperature", 0, 1e6, &sampling->temperature },
        { "top_p", 1e-9, 1, &sampling->top_p },
        { "min_p", 0, 1, &sampling->min_p },
        { "repetition_penalty", 1e-6, 1e6, &rules->repetition_penalty },
        { "presence_penalty", -1e6, 1e6, &rules->presence_penalty },
        { "frequency_penalty", -1e6, 1e6, &rules->frequency_penalty },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CSE_TRY(cse_option_number(line, rows[i].name, (double[]){ rows[i].least, rows[i].most },
                                  rows[i].value));
    return CSE_OK;
}

static cse_status read_integers(const cse_command_line *line, cse_text_settings *s)
{
    int64_t seed = 0;
    const struct {
        const char *name;
        int64_t least, most, *value;
    } rows[] = {
        { "max_new_tokens", 1, 1 << 24, &s->generation.max_new_tokens },
        { "top_k", 0, 1 << 30, &s->generation.sampling.top_k },
        { "no_repeat_ngram_size", 0, 1 << 24, &s->generation.rules.no_repeat_ngram_size },
        { "min_new_tokens", 0, 1 << 24, &s->generation.rules.min_new_tokens },
        { "seed", 0, INT64_MAX, &seed },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CSE_TRY(cse_option_integer(line, rows[i].name, (int64_t[]){ rows[i].least, rows[i].most },
                                   rows[i].value));
    s->generation.sampling.seed = (uint64_t)seed;
    return CSE_OK;
}

static cse_status read_stop_words(const cse_command_line *line, cse_text_settings *s)
{
    s->stop_words = cse_option_all_values(line, "stop");
    for (; s->stop_words[s->generation.stop_count] != NULL; s->generation.stop_count++)
        if (s->stop_words[s->generation.stop_count][0] == '\0')
            return cse_fail(CSE_USAGE, "--stop is empty: give at least one character");
    s->generation.stop_words = s->stop_words;
    return CSE_OK;
}

/* Refuses options of drawing beside beam search, and of beam search beside drawing. */
static cse_status check_apart(const cse_command_line *line, bool searches)
{
    static const char *const of_drawing[] = { "temperature", "greedy", "top_k", "top_p", "min_p",
                                              "seed",        "texts",  "until", NULL };
    static const char *const of_beams[] = { "length_penalty", "early_stopping",
                                            "num_return_sequences", NULL };
    for (int i = 0; searches && of_drawing[i] != NULL; i++)
        if (cse_option_value(line, of_drawing[i]) != NULL)
            return cse_fail(CSE_USAGE,
                            "--%s has no effect in beam search: leave it out, or "
                            "--num_beams",
                            of_drawing[i]);
    for (int i = 0; !searches && of_beams[i] != NULL; i++)
        if (cse_option_value(line, of_beams[i]) != NULL)
            return cse_fail(CSE_USAGE,
                            "--%s has an effect in beam search alone: give --num_beams 2 or "
                            "more beside it",
                            of_beams[i]);
    return CSE_OK;
}

static cse_status read_beams(const cse_command_line *line, cse_text_settings *s)
{
    static const int64_t counts[] = { 1, MAX_BEAMS };
    static const double powers[] = { -100, 100 };
    static const char *const words[] = { "false", "true", "never", NULL };
    const char *when = words[0];
    CSE_TRY(cse_option_integer(line, "num_beams", counts, &s->beams.num_beams));
    CSE_TRY(cse_option_number(line, "length_penalty", powers, &s->beams.length_penalty));
    CSE_TRY(cse_option_word(line, "early_stopping", words, &when));
    CSE_TRY(cse_option_integer(line, "num_return_sequences", counts, &s->num_return_sequences));
    s->beams.early_stopping = strcmp(when, "true") == 0    ? CSE_STOPPING_FIRST
                              : strcmp(when, "never") == 0 ? CSE_STOPPING_NEVER
                                                           : CSE_STOPPING_LIKELY;
    CSE_TRY(check_apart(line, s->beams.num_beams > 1));
    return s->num_return_sequences <= s->beams.num_beams
               ? CSE_OK
               : cse_fail(CSE_USAGE,
                          "--num_return_sequences %lld: %lld beams give no more than %lld texts",
                          (long long)s->num_return_sequences, (long long)s->beams.num_beams,
                          (long long)s->beams.num_beams);
}

cse_status cse_text_settings_read(const cse_command_line *line, bool with_beams,
                                  cse_text_settings *s)
{
    *s = (cse_text_settings){ .generation = { .sampling = { .temperature = 1, .top_p = 1 },
                                              .max_new_tokens = 128 },
                              .beams = { .num_beams = 1, .length_penalty = 1 },
                              .num_return_sequences = 1,
                              .is_long = cse_option_value(line, "max_new_tokens") == NULL };
    s->generation.ends = s->ends.tokens;
    CSE_TRY(read_numbers(line, s));
    CSE_TRY(read_integers(line, s));
    CSE_TRY(read_stop_words(line, s));
    if (cse_option_is_on(line, "greedy"))
        s->generation.sampling.temperature = 0;
    return with_beams ? read_beams(line, s) : CSE_OK;
}

void cse_text_settings_clear(cse_text_settings *settings)
{
    free(settings->stop_words);
    settings->stop_words = NULL;
}
