/* The texts go through a file of JSON lines, which the data loader of `csengine embed` reads. */
#include "cli/models/served_embeddings.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/prediction.h"

enum { MOST_TEXTS = 2048 };

bool cse_is_embedding_folder(const char *path)
{
    char modules[PATH_MAX];
    struct stat found;
    return snprintf(modules, sizeof modules, "%s/modules.json", path) < PATH_MAX &&
           stat(modules, &found) == 0;
}

typedef struct embedding {
    json_t *data;
    bool base64;
    json_int_t tokens; /* that the model saw of the texts */
} embedding;

static json_int_t count_tokens(const cse_predicted *predicted)
{
    json_int_t tokens = 0;
    for (int s = 0; s < predicted->input->stream_count; s++) {
        const cse_stream *stream = &predicted->input->streams[s];
        const int32_t *mask = predicted->streams[s];
        const int64_t elements = predicted->count * cse_shape_elements(stream->shape);
        for (int64_t i = 0; i < elements && strcmp(stream->name, "attention_mask") == 0; i++)
            tokens += mask[i];
    }
    return tokens;
}

/* Little endian float32, as the machine has them. */
static json_t *as_base64(const float *vector, size_t count)
{
    const size_t bytes = count * sizeof *vector;
    const size_t size = sodium_base64_encoded_len(bytes, sodium_base64_VARIANT_ORIGINAL);
    char *text = cse_calloc(size + 1, 1);
    sodium_bin2base64(text, size, (const unsigned char *)vector, bytes,
                      sodium_base64_VARIANT_ORIGINAL);
    json_t *json = json_string(text);
    free(text);
    return json;
}

static cse_status on_predicted(void *self, const cse_predicted *predicted)
{
    embedding *e = self;
    const int64_t count = cse_shape_elements(predicted->shape);
    e->tokens += count_tokens(predicted);
    for (int64_t i = 0; i < predicted->count; i++) {
        const float *vector = (const float *)predicted->values + i * count;
        json_t *values = e->base64 ? as_base64(vector, (size_t)count) : json_array();
        for (int64_t k = 0; k < count && !e->base64; k++)
            json_array_append_new(values, json_real((double)vector[k]));
        json_array_append_new(e->data,
                              json_pack("{s:s, s:I, s:o}", "object", "embedding", "index",
                                        (json_int_t)json_array_size(e->data), "embedding", values));
    }
    return CSE_OK;
}

/* ---- the texts of a request ---- */

static bool check_texts(const json_t *input, cse_completion_fault *fault)
{
    const size_t count = json_is_array(input) ? json_array_size(input) : 1;
    bool good = count > 0 && count <= MOST_TEXTS;
    for (size_t i = 0; i < count && good; i++) {
        const json_t *text = json_is_array(input) ? json_array_get(input, i) : input;
        good = json_is_string(text) && json_string_length(text) > 0;
    }
    return good || cse_completion_refuse(fault, "input",
                                         "input: accepted is a text, or a list of up to %d texts; "
                                         "none of them empty",
                                         MOST_TEXTS);
}

static cse_status write_lines(json_t *input, FILE *file, const char *path)
{
    const size_t count = json_is_array(input) ? json_array_size(input) : 1;
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        json_t *row =
            json_pack("{s:O}", "text", json_is_array(input) ? json_array_get(input, i) : input);
        good = json_dumpf(row, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;
        json_decref(row);
    }
    good = fclose(file) == 0 && good;
    return good ? CSE_OK : cse_fail(CSE_IO, "%s cannot be written: %s", path, strerror(errno));
}

/* A new file below TMPDIR; remove it with unlink. `path` is empty where there is none. */
static cse_status write_texts(json_t *input, char path[PATH_MAX])
{
    static const char ending[] = ".jsonl";
    const char *temporary = getenv("TMPDIR");
    FILE *file = NULL;
    errno = ENAMETOOLONG;
    if (snprintf(path, PATH_MAX, "%s/csengine-texts-XXXXXX%s",
                 temporary != NULL && *temporary != '\0' ? temporary : "/tmp", ending) < PATH_MAX) {
        const int descriptor = mkstemps(path, sizeof ending - 1);
        file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    }
    if (file != NULL)
        return write_lines(input, file, path);
    cse_status status = cse_fail(CSE_CANNOT_CREATE,
                                 "%s cannot be created: %s; TMPDIR sets the "
                                 "directory",
                                 path, strerror(errno));
    path[0] = '\0';
    return status;
}

/* ---- their vectors ---- */

static cse_status predict(cse_served_embeddings *served, const char *path, embedding *e)
{
    cse_embedding_texts texts = served->texts;
    cse_prediction_options options = { .seed = served->settings->session.seed,
                                       .model = served->loaded.model };
    texts.paths = &path;
    texts.path_count = 1;
    CSE_TRY(cse_embedding_loader(&texts, served->settings, &options.loader));
    return cse_predict(&options, on_predicted, e);
}

static void send_answer(const cse_completion_call *call, const embedding *e,
                        const cse_completion_sink *sink)
{
    json_t *answer =
        json_pack("{s:s, s:O, s:s, s:{s:I, s:I}}", "object", "list", "data", e->data, "model",
                  call->model_name, "usage", "prompt_tokens", e->tokens, "total_tokens", e->tokens);
    char *text = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(9));
    sink->answer(sink->self, 200, text);
    free(text);
    json_decref(answer);
}

void cse_served_embeddings_run(cse_served_embeddings *served, const cse_completion_call *call,
                               const cse_completion_sink *sink)
{
    char path[PATH_MAX] = "";
    json_t *input = json_object_get(call->body, "input");
    cse_completion_fault fault = { .message = "" };
    cse_completion_settings *settings = cse_calloc(1, sizeof *settings);
    embedding e = { .data = json_array() };
    if (!cse_completion_settings_read(call->kind, call->body, settings, &fault) ||
        !check_texts(input, &fault)) {
        cse_completion_fail(sink, 400, NULL, &fault);
    } else {
        e.base64 = settings->base64;
        cse_status status = write_texts(input, path);
        if (status == CSE_OK)
            status = predict(served, path, &e);
        if (status == CSE_OK) {
            send_answer(call, &e, sink);
        } else {
            cse_completion_refuse(&fault, "", "%s", cse_error_message());
            cse_completion_fail(sink, 500, NULL, &fault);
        }
    }
    if (path[0] != '\0')
        unlink(path);
    json_decref(e.data);
    free(settings);
}
