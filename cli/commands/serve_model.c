/* `csengine serve-model`: the process in which a model of `csengine serve --model` computes. It
 * reads a request a line from its standard input, and writes lines that begin with what they are:
 *
 *     READY CONTEXT      the model is loaded
 *     EVENT JSON         of a stream
 *     ANSWER STATUS JSON a whole answer
 *     DONE               of the request
 *
 * Whatever comes while it computes ends that; the end of its input ends the process. */
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "cli/models/model_job.h"
#include "cli/models/served_embeddings.h"
#include "cli/terminal/report.h"
#include "engine/base/error.h"
#include "run/infer/pair_decoder.h"

typedef struct serving {
    const cse_command_line *line;
    FILE *out;
    cse_text_model model; /* of texts */
    cse_served_embeddings embeddings;
    bool of_vectors;
} serving;

/* ---- the sink ---- */

static void write_event(void *self, const char *json)
{
    serving *s = self;
    fprintf(s->out, "EVENT %s\n", json);
    fflush(s->out);
}

static void write_answer(void *self, int status, const char *json)
{
    serving *s = self;
    fprintf(s->out, "ANSWER %d %s\n", status, json);
    fflush(s->out);
}

static bool goes_on(void *self)
{
    struct pollfd input = { .fd = 0, .events = POLLIN };
    (void)self;
    return poll(&input, 1, 0) == 0;
}

/* ---- requests ---- */

static void refuse(const cse_completion_sink *sink, const char *message)
{
    cse_completion_fault fault = { .message = "" };
    cse_completion_refuse(&fault, "model", "%s", message);
    cse_completion_fail(sink, 400, NULL, &fault);
}

static void answer(serving *s, const char *text)
{
    json_t *request = json_loads(text, 0, NULL);
    const cse_completion_call call = {
        .kind = (cse_completion_kind)json_integer_value(json_object_get(request, "kind")),
        .body = json_object_get(request, "body"),
        .model_name = json_string_value(json_object_get(request, "name")),
        .number = (uint64_t)json_integer_value(json_object_get(request, "number")),
    };
    const cse_completion_sink sink = { write_event, write_answer, goes_on, s };
    if (call.model_name == NULL || !json_is_object(call.body)) {
        json_decref(request); /* the word that ends a request that has ended by itself */
        return;
    }
    if ((call.kind == CSE_COMPLETION_VECTORS) != s->of_vectors)
        refuse(&sink, s->of_vectors ? "this model makes vectors of texts: POST /v1/embeddings"
                                    : "this model writes texts, and makes no vectors of them: POST "
                                      "/v1/chat/completions or /v1/completions");
    else if (s->of_vectors)
        cse_served_embeddings_run(&s->embeddings, &call, &sink);
    else
        cse_completion_run(&s->model, &call, &sink);
    fputs("DONE\n", s->out);
    fflush(s->out);
    json_decref(request);
}

static void serve(serving *s)
{
    char *text = NULL;
    size_t capacity = 0;
    setvbuf(stdin, NULL, _IONBF, 0); /* so that what waits is seen by poll */
    fprintf(s->out, "READY %lld\n", (long long)s->model.context);
    fflush(s->out);
    while (getline(&text, &capacity, stdin) > 0)
        answer(s, text);
    free(text);
}

/* ---- the process ---- */

static cse_status open_vectors(serving *s, cse_prepared_job *job)
{
    s->of_vectors = true;
    CSE_TRY(cse_embedding_prepare(s->line, &s->embeddings.texts, job));
    CSE_TRY(cse_embedding_check(&job->settings));
    s->embeddings.settings = &job->settings;
    return cse_loaded_model_open(&job->settings, &s->embeddings.loaded);
}

static cse_status open_texts(serving *s, cse_prepared_job *job)
{
    static const int64_t contexts[] = { 16, 1 << 24 };
    cse_text_model_options options = { .tokenizer = cse_option_value(s->line, "tokenizer"),
                                       .chat_template =
                                           cse_option_value(s->line, "chat_template") };
    CSE_TRY(cse_option_integer(s->line, "context", contexts, &options.context));
    CSE_TRY(cse_model_prepare(s->line, job));
    CSE_TRY(cse_text_model_open(&job->settings, &options, &s->model));
    return cse_model_takes_pairs(s->model.loaded.model)
               ? cse_fail(CSE_USAGE, "serve: a model with an encoder and a decoder is not served")
               : CSE_OK;
}

static int run_parsed(const cse_command_line *line, FILE *out)
{
    cse_prepared_job job = { .arena = NULL };
    serving s = { .line = line, .out = out };
    cse_status status =
        cse_is_embedding_folder(line->arguments[0]) ? open_vectors(&s, &job) : open_texts(&s, &job);
    if (status == CSE_OK)
        serve(&s);
    const int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_text_model_close(&s.model);
    cse_finish();
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    { "context", "N", NULL, "tokens of a prompt and its text" },
    { "tokenizer", "PATH", NULL, "tokenizer.json, or a folder that holds it" },
    { "chat_template", "FILE", NULL, "a template of chats" },
    { "pooling", "KIND", NULL, "of a folder without modules.json" },
    CSE_INFERENCE_OPTIONS,
    { 0 },
};

/* Its words are those of the server, in the table above. */
static int run(const cse_command_line *line)
{
    static const cse_command parsed = { .name = "serve-model",
                                        .options = options,
                                        .arguments = "FOLDER|FILE|CONFIG.yaml",
                                        .min_arguments = 1,
                                        .max_arguments = 1 };
    cse_command_line own = { .argument_count = 0 };
    /* What anything else prints is no answer. */
    FILE *out = fdopen(dup(1), "w");
    dup2(2, 1);
    cse_status status = cse_command_line_parse(&parsed, line->argc, line->argv, &own);
    const int exit_code =
        status == CSE_OK && out != NULL ? run_parsed(&own, out) : cse_report(status);
    cse_command_line_clear(&own);
    if (out != NULL)
        fclose(out);
    return exit_code;
}

const cse_command cse_command_serve_model = {
    .name = "serve-model",
    .summary = "computes with a model of a server",
    .arguments = "",
    .hidden = true,
    .run = run,
};
