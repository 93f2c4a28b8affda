/* One table of keys: for which kinds of requests each is, and what reads it. */
#include "run/infer/completion_settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cse_completion_refuse(cse_completion_fault *fault, const char *parameter, const char *format,
                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->message, sizeof fault->message, format, arguments);
    va_end(arguments);
    snprintf(fault->parameter, sizeof fault->parameter, "%s", parameter);
    return false;
}

typedef struct reading {
    cse_completion_kind kind;
    cse_completion_settings *settings;
    cse_completion_fault *fault;
    const char *key;
} reading;

typedef bool read_key(reading *r, const json_t *value);

/* ---- numbers ---- */

static bool take_number(reading *r, const json_t *value, const double range[2], double *to)
{
    if (json_is_number(value) && json_number_value(value) >= range[0] &&
        json_number_value(value) <= range[1]) {
        *to = json_number_value(value);
        return true;
    }
    return cse_completion_refuse(r->fault, r->key, "%s: accepted is a number from %g to %g", r->key,
                                 range[0], range[1]);
}

static bool take_integer(reading *r, const json_t *value, const int64_t range[2], int64_t *to)
{
    if (json_is_integer(value) && json_integer_value(value) >= range[0] &&
        json_integer_value(value) <= range[1]) {
        *to = json_integer_value(value);
        return true;
    }
    return cse_completion_refuse(r->fault, r->key,
                                 "%s: accepted is a whole number from %lld to %lld", r->key,
                                 (long long)range[0], (long long)range[1]);
}

static bool take_flag(reading *r, const json_t *value, bool *to)
{
    *to = json_is_true(value);
    return json_is_boolean(value) ||
           cse_completion_refuse(r->fault, r->key, "%s: accepted is true or false", r->key);
}

static bool read_temperature(reading *r, const json_t *value)
{
    return take_number(r, value, (double[]){ 0, 100 },
                       &r->settings->generation.sampling.temperature);
}

static bool read_top_p(reading *r, const json_t *value)
{
    double *to = &r->settings->generation.sampling.top_p;
    const bool good = take_number(r, value, (double[]){ 0, 1 }, to);
    *to = *to < 1e-9 ? 1e-9 : *to; /* 0: the most likely token */
    return good;
}

static bool read_min_p(reading *r, const json_t *value)
{
    return take_number(r, value, (double[]){ 0, 1 }, &r->settings->generation.sampling.min_p);
}

static bool read_repetition(reading *r, const json_t *value)
{
    return take_number(r, value, (double[]){ 1e-6, 1e6 },
                       &r->settings->generation.rules.repetition_penalty);
}

static bool read_presence(reading *r, const json_t *value)
{
    return take_number(r, value, (double[]){ -2, 2 },
                       &r->settings->generation.rules.presence_penalty);
}

static bool read_frequency(reading *r, const json_t *value)
{
    return take_number(r, value, (double[]){ -2, 2 },
                       &r->settings->generation.rules.frequency_penalty);
}

static bool read_top_k(reading *r, const json_t *value)
{
    int64_t *to = &r->settings->generation.sampling.top_k;
    const bool good = take_integer(r, value, (int64_t[]){ -1, 1 << 30 }, to);
    *to = *to < 0 ? 0 : *to;
    return good;
}

static bool read_seed(reading *r, const json_t *value)
{
    int64_t seed = 0;
    const bool good = take_integer(r, value, (int64_t[]){ INT64_MIN, INT64_MAX }, &seed);
    r->settings->generation.sampling.seed = (uint64_t)seed;
    return good;
}

static bool read_max_tokens(reading *r, const json_t *value)
{
    r->settings->max_tokens_given = true;
    return take_integer(r, value, (int64_t[]){ 1, 1 << 24 },
                        &r->settings->generation.max_new_tokens);
}

static bool read_choices(reading *r, const json_t *value)
{
    int64_t count = 1;
    const bool good = take_integer(r, value, (int64_t[]){ 1, CSE_COMPLETION_CHOICES }, &count);
    r->settings->choices = (int)count;
    return good;
}

/* ---- other kinds ---- */

static bool read_stream(reading *r, const json_t *value)
{
    return take_flag(r, value, &r->settings->stream);
}

static bool read_echo(reading *r, const json_t *value)
{
    return take_flag(r, value, &r->settings->echo);
}

static bool read_stream_options(reading *r, const json_t *value)
{
    const char *name;
    json_t *one;
    if (!json_is_object(value))
        return cse_completion_refuse(r->fault, r->key, "stream_options: accepted is an object");
    json_object_foreach((json_t *)(uintptr_t)value, name, one)
    {
        if (strcmp(name, "include_usage") != 0 && strcmp(name, "include_obfuscation") != 0)
            return cse_completion_refuse(r->fault, r->key,
                                         "stream_options.%.40s is not known; accepted: "
                                         "include_usage",
                                         name);
        if (strcmp(name, "include_usage") == 0 && !take_flag(r, one, &r->settings->include_usage))
            return false;
    }
    return true;
}

static bool read_log_probabilities(reading *r, const json_t *value)
{
    int64_t count = 0;
    if (r->kind == CSE_COMPLETION_OF_CHAT)
        return take_flag(r, value, &r->settings->log_probabilities);
    r->settings->log_probabilities = true;
    const bool good = take_integer(r, value, (int64_t[]){ 0, 20 }, &count);
    r->settings->top_log_probabilities = (int)count;
    return good;
}

static bool read_top_log_probabilities(reading *r, const json_t *value)
{
    int64_t count = 0;
    const bool good = take_integer(r, value, (int64_t[]){ 0, 20 }, &count);
    r->settings->top_log_probabilities = (int)count;
    return good;
}

static bool read_stop(reading *r, const json_t *value)
{
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < count && i < CSE_COMPLETION_STOPS; i++) {
        const json_t *one = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(one) || json_string_length(one) == 0)
            break;
        r->settings->stop_words[r->settings->generation.stop_count++] = json_string_value(one);
    }
    return (size_t)r->settings->generation.stop_count == count ||
           cse_completion_refuse(r->fault, r->key,
                                 "stop: accepted is a text, or a list of up to %d, none of them "
                                 "empty",
                                 CSE_COMPLETION_STOPS);
}

static bool read_biases(reading *r, const json_t *value)
{
    const char *name;
    json_t *one;
    cse_logit_rules *rules = &r->settings->generation.rules;
    if (!json_is_object(value) || json_object_size(value) > CSE_COMPLETION_BIASES)
        return cse_completion_refuse(r->fault, r->key,
                                     "logit_bias: accepted is an object of up to "
                                     "1024 tokens");
    json_object_foreach((json_t *)(uintptr_t)value, name, one)
    {
        char *end;
        errno = 0;
        const long long token = strtoll(name, &end, 10);
        const double bias = json_number_value(one);
        if (errno != 0 || end == name || *end != '\0' || token < 0 || token > INT32_MAX ||
            !json_is_number(one) || bias < -100 || bias > 100)
            return cse_completion_refuse(r->fault, r->key,
                                         "logit_bias: accepted are numbers of tokens, each with a "
                                         "number from -100 to 100");
        r->settings->biases[rules->bias_count++] = (cse_token_bias){ (int32_t)token, (float)bias };
    }
    return true;
}

static bool read_format(reading *r, const json_t *value)
{
    const char *type = json_string_value(json_object_get(value, "type"));
    return (type != NULL && strcmp(type, "text") == 0) ||
           cse_completion_refuse(r->fault, r->key,
                                 "response_format: accepted is {\"type\": \"text\"}");
}

static bool read_encoding(reading *r, const json_t *value)
{
    const char *word = json_string_value(value);
    r->settings->base64 = word != NULL && strcmp(word, "base64") == 0;
    return (word != NULL && (r->settings->base64 || strcmp(word, "float") == 0)) ||
           cse_completion_refuse(r->fault, r->key,
                                 "encoding_format: accepted: \"float\", \"base64\"");
}

/* No more texts are made than `n`, so that there are none to choose the best from. */
static bool read_best_of(reading *r, const json_t *value)
{
    return (json_is_integer(value) && json_integer_value(value) == 1) ||
           cse_completion_refuse(r->fault, r->key, "best_of: accepted is 1");
}

/* A key that is not supported, with a value that asks for nothing. */
static bool read_nothing(reading *r, const json_t *value)
{
    return json_is_false(value) || (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_string(value) &&
            (json_string_length(value) == 0 || strcmp(json_string_value(value), "none") == 0)) ||
           cse_completion_refuse(r->fault, r->key, "%s is not supported here; leave it out",
                                 r->key);
}

static bool pass_over(reading *r, const json_t *value)
{
    (void)r;
    (void)value;
    return true;
}

enum { CHAT = 1, TEXT = 2, VECTORS = 4, BOTH = CHAT | TEXT, ALL = BOTH | VECTORS };

static const struct {
    const char *name;
    int kinds;
    read_key *read;
} keys[] = {
    { "model", ALL, pass_over }, /* the one that was found by it */
    { "messages", CHAT, pass_over },
    { "prompt", TEXT, pass_over },
    { "input", VECTORS, pass_over },
    { "temperature", BOTH, read_temperature },
    { "top_p", BOTH, read_top_p },
    { "top_k", BOTH, read_top_k },
    { "min_p", BOTH, read_min_p },
    { "repetition_penalty", BOTH, read_repetition },
    { "presence_penalty", BOTH, read_presence },
    { "frequency_penalty", BOTH, read_frequency },
    { "logit_bias", BOTH, read_biases },
    { "seed", BOTH, read_seed },
    { "max_tokens", BOTH, read_max_tokens },
    { "max_completion_tokens", CHAT, read_max_tokens },
    { "n", BOTH, read_choices },
    { "best_of", TEXT, read_best_of },
    { "stop", BOTH, read_stop },
    { "stream", BOTH, read_stream },
    { "stream_options", BOTH, read_stream_options },
    { "logprobs", BOTH, read_log_probabilities },
    { "top_logprobs", CHAT, read_top_log_probabilities },
    { "echo", TEXT, read_echo },
    { "suffix", TEXT, read_nothing },
    { "response_format", CHAT, read_format },
    { "tools", CHAT, read_nothing },
    { "tool_choice", CHAT, read_nothing },
    { "functions", CHAT, read_nothing },
    { "function_call", CHAT, read_nothing },
    { "store", CHAT, read_nothing },
    { "encoding_format", VECTORS, read_encoding },
    /* Of who asks, and of how OpenAI bills and caches. */
    { "user", ALL, pass_over },
    { "metadata", CHAT, pass_over },
    { "service_tier", CHAT, pass_over },
    { "safety_identifier", CHAT, pass_over },
    { "prompt_cache_key", CHAT, pass_over },
    { "parallel_tool_calls", CHAT, pass_over },
};

static bool take_key(reading *r, const char *name, const json_t *value)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].name, name) == 0 && (keys[i].kinds & 1 << r->kind) != 0) {
            r->key = keys[i].name;
            return json_is_null(value) || keys[i].read(r, value);
        }
    char known[400];
    size_t size = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && size < sizeof known; i++)
        if ((keys[i].kinds & 1 << r->kind) != 0 && keys[i].read != read_nothing)
            size += (size_t)snprintf(known + size, sizeof known - size, "%s%s",
                                     size > 0 ? ", " : "", keys[i].name);
    return cse_completion_refuse(r->fault, name, "%.40s is not known here; accepted: %s", name,
                                 known);
}

bool cse_completion_settings_read(cse_completion_kind kind, const json_t *body,
                                  cse_completion_settings *settings, cse_completion_fault *fault)
{
    reading r = { .kind = kind, .settings = settings, .fault = fault };
    const char *name;
    json_t *value;
    memset(settings, 0, sizeof *settings);
    settings->choices = 1;
    settings->generation = (cse_generation_settings){
        .sampling = { .temperature = 1, .top_p = 1 },
        .max_new_tokens = kind == CSE_COMPLETION_OF_TEXT ? 16 : 1 << 24,
        .rules = { .biases = settings->biases },
        .stop_words = settings->stop_words,
    };
    json_object_foreach((json_t *)(uintptr_t)body, name, value)
    {
        if (!take_key(&r, name, value))
            return false;
    }
    if (settings->top_log_probabilities > 0 && !settings->log_probabilities)
        return cse_completion_refuse(fault, "top_logprobs",
                                     "top_logprobs: give logprobs: true "
                                     "beside it");
    if (settings->include_usage && !settings->stream)
        return cse_completion_refuse(fault, "stream_options",
                                     "stream_options: give stream: true beside it");
    if (settings->echo && settings->log_probabilities)
        return cse_completion_refuse(fault, "echo",
                                     "echo: logprobs of a prompt are not computed; "
                                     "leave one of them out");
    return true;
}
