/* `csengine serve-model`: the process in which a model of `csengine serve --model` computes. It
 * reads lines of JSON from its standard input, each with the number of a request:
 *
 *     {"number": N, "kind": ..., "name": ..., "body": {...}}   a request
 *     {"number": N, "cancel": true}                            nobody waits for it any more
 *     {"number": N, "hold": true}, false                       who reads it is behind, or not
 *
 * and writes lines that begin with what they are:
 *
 *     READY CONTEXT        the model is loaded
 *     EVENT N JSON         of a stream
 *     ANSWER N STATUS JSON a whole answer
 *     DONE N               of the request
 *
 * Texts of several requests are written together (run/infer/completion_group.h). The end of its
 * input ends the process. */
#include <errno.h>
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
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/completion_group.h"
#include "run/infer/pair_decoder.h"

enum { READ_BYTES = 65536 };

typedef struct serving serving;

/* A request under way. */
typedef struct request {
    serving *of;
    json_t *json;
    json_int_t number;
    bool cancelled, held;
    struct request *next;
} request;

struct serving {
    const cse_command_line *line;
    FILE *out;
    cse_text_model model; /* of texts */
    int64_t together;
    cse_completion_group *group;
    cse_served_embeddings embeddings;
    bool of_vectors;
    request *first;
    cse_text read; /* of lines that are not whole */
};

/* ---- the sink ---- */

static void write_event(void *self, const char *json)
{
    const request *r = self;
    fprintf(r->of->out, "EVENT %lld %s\n", (long long)r->number, json);
    fflush(r->of->out);
}

static void write_answer(void *self, int status, const char *json)
{
    const request *r = self;
    fprintf(r->of->out, "ANSWER %lld %d %s\n", (long long)r->number, status, json);
    fflush(r->of->out);
}

static bool goes_on(void *self)
{
    return !((const request *)self)->cancelled;
}

static bool rests(void *self)
{
    const request *r = self;
    return r->held && !r->cancelled;
}

static void end_request(void *self)
{
    request *r = self, **place = &r->of->first;
    fprintf(r->of->out, "DONE %lld\n", (long long)r->number);
    fflush(r->of->out);
    while (*place != r)
        place = &(*place)->next;
    *place = r->next;
    json_decref(r->json);
    free(r);
}

/* ---- requests ---- */

static void refuse(const cse_completion_sink *sink, const char *message)
{
    cse_completion_fault fault = { .message = "" };
    cse_completion_refuse(&fault, "model", "%s", message);
    cse_completion_fail(sink, 400, NULL, &fault);
}

static void begin(serving *s, request *r)
{
    const cse_completion_call call = {
        .kind = (cse_completion_kind)json_integer_value(json_object_get(r->json, "kind")),
        .body = json_object_get(r->json, "body"),
        .model_name = json_string_value(json_object_get(r->json, "name")),
        .number = (uint64_t)r->number,
    };
    const cse_completion_sink sink = { write_event, write_answer, goes_on, rests, r };
    if ((call.kind == CSE_COMPLETION_VECTORS) != s->of_vectors)
        refuse(&sink, s->of_vectors ? "this model makes vectors of texts: POST /v1/embeddings"
                                    : "this model writes texts, and makes no vectors of them: POST "
                                      "/v1/chat/completions or /v1/completions");
    else if (s->of_vectors)
        cse_served_embeddings_run(&s->embeddings, &call, &sink);
    else {
        cse_completion_group_add(s->group, &call, &sink, end_request);
        return;
    }
    end_request(r);
}

static request *find(const serving *s, json_int_t number)
{
    request *r = s->first;
    while (r != NULL && r->number != number)
        r = r->next;
    return r;
}

/* A word about a request that is over is late, and changes nothing. */
static void take_line(serving *s, const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    const json_int_t number = json_integer_value(json_object_get(json, "number"));
    request *known = find(s, number);
    if (json_is_object(json_object_get(json, "body")) && known == NULL) {
        request *r = cse_calloc(1, sizeof *r);
        request **last = &s->first;
        *r = (request){ .of = s, .json = json, .number = number };
        while (*last != NULL)
            last = &(*last)->next;
        *last = r;
        if (!s->of_vectors)
            begin(s, r);
        return;
    }
    const json_t *hold = json_object_get(json, "hold");
    if (known != NULL) {
        known->cancelled = known->cancelled || json_is_true(json_object_get(json, "cancel"));
        known->held = hold != NULL ? json_is_true(hold) : known->held;
    }
    json_decref(json);
}

static void take_lines(serving *s)
{
    char *end;
    while (s->read.size > 0 && (end = memchr(s->read.data, '\n', s->read.size)) != NULL) {
        const size_t size = (size_t)(end - s->read.data) + 1;
        *end = '\0';
        char *text = cse_strdup(s->read.data);
        memmove(s->read.data, s->read.data + size, s->read.size - size);
        s->read.size -= size;
        take_line(s, text);
        free(text);
    }
}

/* False: the input has ended. */
static bool read_input(serving *s, bool waits)
{
    char buffer[READ_BYTES];
    struct pollfd input = { .fd = 0, .events = POLLIN };
    if (poll(&input, 1, waits ? -1 : 0) <= 0)
        return true;
    const ssize_t size = read(0, buffer, sizeof buffer);
    if (size <= 0)
        return size < 0 && errno == EINTR;
    cse_text_add_bytes(&s->read, buffer, (size_t)size);
    take_lines(s);
    return true;
}

/* Vectors are made for one request after another. Whether there is more to do. */
static bool work(serving *s)
{
    if (!s->of_vectors)
        return cse_completion_group_work(s->group) == CSE_COMPLETIONS_GO_ON;
    if (s->first != NULL && s->first->cancelled)
        end_request(s->first);
    else if (s->first != NULL)
        begin(s, s->first);
    return s->first != NULL;
}

static void serve(serving *s)
{
    bool goes_on = false;
    fprintf(s->out, "READY %lld\n", (long long)s->model.context);
    fflush(s->out);
    while (read_input(s, !goes_on))
        goes_on = work(s);
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
    static const int64_t contexts[] = { 16, 1 << 24 }, together[] = { 1, CSE_MOST_TOGETHER };
    cse_text_model_options options = { .tokenizer = cse_option_value(s->line, "tokenizer"),
                                       .chat_template =
                                           cse_option_value(s->line, "chat_template") };
    CSE_TRY(cse_option_integer(s->line, "context", contexts, &options.context));
    CSE_TRY(cse_option_integer(s->line, "together", together, &s->together));
    CSE_TRY(cse_model_prepare(s->line, job));
    CSE_TRY(cse_text_model_open(&job->settings, &options, &s->model));
    s->group = cse_completion_group_new(&s->model, (int)s->together);
    return cse_model_takes_pairs(s->model.loaded.model)
               ? cse_fail(CSE_USAGE, "serve: a model with an encoder and a decoder is not served")
               : CSE_OK;
}

static int run_parsed(const cse_command_line *line, FILE *out)
{
    cse_prepared_job job = { .arena = NULL };
    serving s = { .line = line, .out = out, .together = 1 };
    cse_status status =
        cse_is_embedding_folder(line->arguments[0]) ? open_vectors(&s, &job) : open_texts(&s, &job);
    if (status == CSE_OK)
        serve(&s);
    const int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_completion_group_destroy(&s.group);
    cse_text_model_close(&s.model);
    cse_text_clear(&s.read);
    for (request *r = s.first, *next; r != NULL; r = next) {
        next = r->next;
        json_decref(r->json);
        free(r);
    }
    cse_finish();
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    { "context", "N", NULL, "tokens of a prompt and its text" },
    { "together", "N", NULL, "texts that are written at a time" },
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
