/* `csengine generate`: text that a trained language model writes after a prompt. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/option_values.h"
#include "cli/runs/job.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/report.h"
#include "cli/terminal/stop_signal.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "run/infer/generation.h"
#include "run/infer/language_model.h"
#include "run/infer/loaded_model.h"
#include "run/infer/pair_decoder.h"
#include "run/infer/sample_view.h"

enum { MAX_PROMPT_BYTES = 16 << 20, MAX_TEXTS = 1 << 20 };

/* A prompt in tokens. */
typedef struct prompt {
    const char *text; /* of the command line */
    int32_t *tokens;
    int64_t count;
} prompt;

typedef struct generating {
    const cse_command_line *line;
    cse_loaded_model loaded;
    cse_text_codec *codec;
    cse_generation *generation;
    prompt *prompts;
    int prompt_count;
    int64_t texts; /* of each prompt */
    bool json;
    bool pairs; /* the model reads the prompt by itself, and writes another text */
    /* Of the text under way. */
    cse_text text, shown;
    json_t *tokens;
    int64_t token_count; /* of all texts */
    const char *until;   /* ends a text where it contains this; NULL: nothing */
} generating;

/* ---- what is printed ---- */

/* Writes what was generated since the last call, up to the last whole character, since a token may
 * be a part of one. Control characters are shown as \xNN. */
static void show(generating *g, bool is_last)
{
    size_t whole = g->shown.size;
    for (size_t back = 1; !is_last && back <= 4 && back <= g->shown.size; back++) {
        const unsigned char byte = (unsigned char)g->shown.data[g->shown.size - back];
        if ((byte & 0xC0) == 0x80)
            continue;
        if (byte >= 0xC0 && cse_utf8_length(g->shown.data + g->shown.size - back, back) == 0)
            whole = g->shown.size - back;
        break;
    }
    if (whole == 0)
        return;
    char *printable = cse_calloc(4 * whole + 1, 1), *text = cse_calloc(whole + 1, 1);
    memcpy(text, g->shown.data, whole);
    for (size_t i = 0; i < whole; i++) /* it would end the text */
        text[i] = text[i] == '\0' ? '\x01' : text[i];
    cse_text_printable(text, printable, 4 * whole + 1);
    fputs(printable, stdout);
    fflush(stdout);
    free(printable);
    free(text);
    memmove(g->shown.data, g->shown.data + whole, g->shown.size - whole);
    g->shown.size -= whole;
}

static bool on_token(void *self, const cse_generated_token *token)
{
    generating *g = self;
    g->token_count++;
    cse_text_add_bytes(&g->text, token->bytes, token->byte_count);
    if (g->json) {
        json_array_append_new(g->tokens, json_integer(token->token));
    } else {
        cse_text_add_bytes(&g->shown, token->bytes, token->byte_count);
        show(g, false);
    }
    return !cse_stop_signal_came() && (g->until == NULL || strstr(g->text.data, g->until) == NULL);
}

static cse_status write_text(generating *g, const prompt *p, int64_t number)
{
    const cse_generation_request request = { p->tokens, p->count, (uint32_t)number, on_token, g };
    g->text.size = g->shown.size = 0;
    g->tokens = json_array();
    if (!g->json && !g->pairs) {
        cse_text_add(&g->shown, "%s", p->text);
        show(g, true);
    }
    cse_text_add(&g->text, "%s", "");
    cse_status status = cse_generate(g->generation, &request);
    if (g->json && status == CSE_OK) {
        json_t *line =
            json_pack("{s:o, s:I, s:o, s:O}", "prompt", cse_bytes_json(p->text, strlen(p->text)),
                      "number", (json_int_t)number, "text",
                      cse_bytes_json(g->text.data, g->text.size), "tokens", g->tokens);
        cse_json_print(line);
        json_decref(line);
    } else if (!g->json) {
        show(g, true);
        putchar('\n');
    }
    json_decref(g->tokens);
    return status;
}

/* ---- prompts ---- */

/* The whole standard input, without the newline at its end. */
static cse_status read_standard_input(cse_text *text)
{
    char buffer[4096];
    size_t size;
    while ((size = fread(buffer, 1, sizeof buffer, stdin)) > 0 && text->size <= MAX_PROMPT_BYTES)
        cse_text_add_bytes(text, buffer, size);
    if (text->size > MAX_PROMPT_BYTES)
        return cse_fail(CSE_DATA, "generate: the prompt on the standard input is longer than %d MB",
                        MAX_PROMPT_BYTES >> 20);
    if (text->size > 0 && text->data[text->size - 1] == '\n')
        text->data[--text->size] = '\0';
    return text->size > 0 ? CSE_OK
                          : cse_fail(CSE_USAGE, "generate: there is no prompt: give --prompt TEXT, "
                                                "or text on the standard input");
}

/* An encoder's text ends with the token that its tokenizer ends texts with. */
static void end_prompt(const generating *g, prompt *p)
{
    const int32_t end = cse_text_codec_end(g->codec);
    if (end < 0 || p->tokens[p->count - 1] == end)
        return;
    p->tokens = cse_realloc(p->tokens, (size_t)(p->count + 1) * sizeof *p->tokens);
    p->tokens[p->count++] = end;
}

static cse_status read_prompts(generating *g, cse_text *input)
{
    const char **given = cse_option_all_values(g->line, "prompt");
    const char *piped[2] = { NULL };
    const char **texts = given;
    cse_status status = CSE_OK;
    if (given[0] == NULL) {
        status = read_standard_input(input);
        piped[0] = input->data;
        texts = piped;
    }
    while (status == CSE_OK && texts[g->prompt_count] != NULL)
        g->prompt_count++;
    g->prompts = cse_calloc((size_t)g->prompt_count + 1, sizeof *g->prompts);
    for (int i = 0; i < g->prompt_count && status == CSE_OK; i++) {
        prompt *p = &g->prompts[i];
        p->text = texts[i];
        status = cse_text_codec_encode(g->codec, p->text, strlen(p->text), &p->tokens, &p->count);
        if (status == CSE_OK && p->count == 0)
            status =
                cse_fail(CSE_USAGE, "generate: --prompt is empty: give at least one character");
        if (status == CSE_OK && g->pairs)
            end_prompt(g, p);
    }
    free(given);
    return status;
}

/* ---- the command ---- */

static cse_status read_options(generating *g, cse_generation_options *options)
{
    static const int64_t tokens[] = { 1, 1 << 24 }, texts[] = { 1, MAX_TEXTS };
    static const int64_t ranks[] = { 0, 1 << 30 }, seeds[] = { 0, INT64_MAX };
    static const double temperatures[] = { 0, 1e6 }, shares[] = { 1e-9, 1 };
    int64_t seed = 0;
    g->texts = 1;
    g->json = cse_option_is_on(g->line, "json");
    g->until = cse_option_value(g->line, "until");
    options->max_new_tokens = 128;
    options->ends_when_full = cse_option_value(g->line, "max_new_tokens") == NULL;
    options->sampling = (cse_sampling){ .temperature = 1, .top_p = 1 };
    CSE_TRY(cse_option_integer(g->line, "max_new_tokens", tokens, &options->max_new_tokens));
    CSE_TRY(cse_option_integer(g->line, "texts", texts, &g->texts));
    CSE_TRY(cse_option_integer(g->line, "top_k", ranks, &options->sampling.top_k));
    CSE_TRY(cse_option_integer(g->line, "seed", seeds, &seed));
    CSE_TRY(
        cse_option_number(g->line, "temperature", temperatures, &options->sampling.temperature));
    CSE_TRY(cse_option_number(g->line, "top_p", shares, &options->sampling.top_p));
    options->sampling.seed = (uint64_t)seed;
    if (cse_option_is_on(g->line, "greedy"))
        options->sampling.temperature = 0;
    return CSE_OK;
}

static cse_status write_texts(generating *g)
{
    const int64_t begun_ns = cse_clock_ns();
    cse_status status = CSE_OK;
    int64_t number = 0;
    for (int i = 0; i < g->prompt_count && status == CSE_OK; i++)
        for (int64_t t = 0; t < g->texts && status == CSE_OK && !cse_stop_signal_came(); t++)
            status = write_text(g, &g->prompts[i], number++);
    const double seconds = (double)(cse_clock_ns() - begun_ns) * 1e-9;
    if (status == CSE_OK && !cse_option_is_on(g->line, "quiet") && seconds > 0)
        fprintf(stderr, "%lld tokens in %.2f s, %.1f a second; %s\n", (long long)g->token_count,
                seconds, (double)g->token_count / seconds, g->loaded.described);
    return status == CSE_OK && cse_stop_signal_came()
               ? cse_fail(CSE_INTERRUPTED, "generate: ended by a signal")
               : status;
}

static cse_status generate(generating *g, const cse_job_settings *settings)
{
    cse_text input = { 0 };
    cse_generation_options options = { 0 };
    CSE_TRY(read_options(g, &options));
    CSE_TRY(cse_loaded_model_open(settings, &g->loaded));
    if (cse_option_is_on(g->line, "numbers"))
        g->codec = cse_text_codec_of_numbers();
    else
        CSE_TRY(cse_text_codec_find(
            &(cse_text_codec_places){ .given = cse_option_value(g->line, "tokenizer"),
                                      .weights = g->loaded.path,
                                      .model_dir = settings->session.model_dir },
            cse_model_vocabulary(g->loaded.model), &g->codec));
    g->pairs = cse_model_takes_pairs(g->loaded.model);
    options.end_token = cse_text_codec_end(g->codec);
    cse_status status = read_prompts(g, &input);
    for (int i = 0; i < g->prompt_count; i++)
        if (g->prompts[i].count > options.longest_prompt)
            options.longest_prompt = g->prompts[i].count;
    options.model = g->loaded.model;
    options.codec = g->codec;
    if (status == CSE_OK)
        status = cse_generation_new(&options, &g->generation);
    if (status == CSE_OK)
        status = write_texts(g);
    cse_text_clear(&input);
    return status;
}

static void clear(generating *g)
{
    cse_generation_destroy(&g->generation);
    cse_text_codec_close(&g->codec);
    for (int i = 0; i < g->prompt_count; i++)
        free(g->prompts[i].tokens);
    free(g->prompts);
    cse_text_clear(&g->text);
    cse_text_clear(&g->shown);
    cse_finish();
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job;
    generating g = { .line = line };
    cse_stop_signal_note();
    cse_status status = cse_job_prepare(line, CSE_JOB_INFER, &job);
    if (status == CSE_OK)
        status = generate(&g, &job.settings);
    int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    clear(&g);
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    { "prompt", "TEXT", NULL, "begins a text; repeatable; without it the standard input is read" },
    { "max_new_tokens", "N", NULL,
      "ends a text after so many tokens; without it after 128, or where the model takes no more" },
    { "temperature", "T", NULL, "divides the logits; 0: the most likely token each time; 1" },
    { "greedy", NULL, NULL, "the most likely token each time, as --temperature 0" },
    { "top_k", "K", NULL, "only the K most likely tokens; 0, all" },
    { "top_p", "P", NULL, "only the fewest tokens whose probabilities reach P; 1, all" },
    { "tokenizer", "PATH", NULL,
      "tokenizer.json, or a folder that holds it; without it that of model_dir, or bytes" },
    { "numbers", NULL, NULL, "prompts and texts are the numbers of tokens, as in 15496,11,995" },
    { "until", "TEXT", NULL, "ends a text once this was generated" },
    { "texts", "N", NULL, "texts for each prompt; 1" },
    { "seed", "N", NULL, "of the random numbers; 0" },
    { "json", NULL, NULL, "prints a JSON line for each text: prompt, number, text, tokens" },
    { "quiet", NULL, NULL, "prints nothing but the texts" },
    CSE_INFERENCE_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "generate configs/gpt2_bytes.yaml --prompt 'In the beginning' --temperature 0.8",
      "what the newest checkpoint of the run writes" },
    { 0 },
};

const cse_command cse_command_generate = {
    .name = "generate",
    .group = CSE_GROUP_RUN,
    .summary = "writes text with a trained language model",
    .arguments = "CONFIG.yaml",
    .doc = "Takes the weights of --checkpoint_path, or else of the newest checkpoint of model_dir. "
           "Keys and values of the tokens before are kept, so that each token costs one pass over "
           "one token.\n"
           "A text depends on its prompt, its number, the seed and the weights alone: the same "
           "command gives the same texts.",
    .options = options,
    .letters = "p=prompt q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
