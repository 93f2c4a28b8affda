/* Samples from any program: it gets the numbers of samples and answers with their tensors.
 *
 * A request is a line of JSON, {"samples":[7,3],"epochs":[0,0]}. An answer is 8 bytes with its
 * length (little-endian), then safetensors whose tensors are the streams, each [samples, ...] of
 * F32, I32 or I64. The answer to the first request, for sample 0, says the number of all samples in
 * its metadata: {"__metadata__": {"sample_count": "1000"}}. An answer may depend on the request
 * alone: several programs answer for one run, and one that was killed is started again.
 *
 * With sample_count and streams that first request is not made: a process that only has to know
 * what a sample is (the coordinator) then starts no program. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataloader/input.h"
#include "dataloader/programs/answer_tensors.h"
#include "dataloader/programs/answering_program.h"
#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/name.h"
#include "engine/base/text.h"

typedef struct command {
    char **arguments; /* ended by NULL */
    cse_answering_program *program;
    char *names[CSE_MAX_STREAMS];
    cse_text line;
} command;

static const cse_setting settings_table[] = {
    { .name = "command",
      .type = CSE_SETTING_TEXT_LIST,
      .doc = "the program and its arguments, as in [python3, samples.py]" },
    { .name = "timeout_seconds",
      .type = CSE_SETTING_INTEGER,
      .default_value = "600",
      .min = 1,
      .max = 86400,
      .doc = "how long an answer may take" },
    { .name = "sample_count",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 1e15,
      .doc = "the number of all samples; null: the first answer says it" },
    { .name = "streams",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[]",
      .doc = "with sample_count: name, type and sizes of each tensor of a sample, as in "
             "[images float32 28 28, labels int32]; none: the first answer says it" },
    { 0 },
};

/* Files among the arguments are part of the run's data. */
static cse_status note_files(const command *self)
{
    for (int i = 0; self->arguments[i] != NULL; i++) {
        int descriptor;
        const char *path = self->arguments[i];
        if ((strchr(path, '/') == NULL && i == 0) || !cse_byte_source_exists(path) ||
            cse_input_open_file(path, &descriptor) != CSE_OK)
            continue;
        close(descriptor);
    }
    return CSE_OK;
}

static cse_status ask(command *self, const int64_t *indices, const int64_t *epochs, int64_t count,
                      cse_answer_tensors *answer)
{
    size_t size = 0;
    const unsigned char *bytes = NULL;
    self->line.size = 0;
    cse_text_add(&self->line, "{\"samples\":[");
    for (int64_t i = 0; i < count; i++)
        cse_text_add(&self->line, "%s%" PRId64, i > 0 ? "," : "", indices[i]);
    cse_text_add(&self->line, "],\"epochs\":[");
    for (int64_t i = 0; i < count; i++)
        cse_text_add(&self->line, "%s%" PRId64, i > 0 ? "," : "", epochs != NULL ? epochs[i] : 0);
    cse_text_add(&self->line, "]}\n");
    CSE_TRY(cse_answering_program_ask(self->program, self->line.data, &bytes, &size));
    cse_status status = cse_answer_tensors_read(bytes, size, answer);
    return status == CSE_OK ? CSE_OK
                            : cse_fail_within(status, "%s: its answer: ", self->arguments[0]);
}

static cse_status describe(cse_input *input, const cse_answer_tensors *answer)
{
    command *self = input->self;
    if (answer->sample_count < 1 || answer->count < 1)
        return cse_fail(CSE_DATA,
                        "%s: the first answer has %d tensors and says %" PRId64
                        " samples: expected 1 or more, and the number in the member sample_count "
                        "of __metadata__, as a text",
                        self->arguments[0], answer->count, answer->sample_count);
    input->sample_count = answer->sample_count;
    input->stream_count = answer->count;
    for (int s = 0; s < answer->count; s++) {
        const cse_answer_tensor *tensor = &answer->tensors[s];
        cse_shape shape = { .rank = tensor->shape.rank - 1 };
        if (tensor->shape.rank < 1 || tensor->shape.dims[0] != 1 ||
            cse_shape_elements(tensor->shape) < 1)
            return cse_fail(CSE_DATA,
                            "%s: tensor \"%.60s\" of the answer for one sample does not begin with "
                            "the size 1",
                            self->arguments[0], tensor->name);
        for (int i = 0; i < shape.rank; i++)
            shape.dims[i] = tensor->shape.dims[i + 1];
        self->names[s] = cse_strdup(tensor->name);
        input->streams[s] =
            (cse_stream){ .name = self->names[s], .shape = shape, .dtype = tensor->dtype };
    }
    return CSE_OK;
}

/* "images float32 28 28". */
static bool read_stream(const char *text, char **name, cse_stream *stream)
{
    char kept[64], type[16];
    int length = 0;
    if (sscanf(text, "%63s %15s%n", kept, type, &length) != 2 || !cse_name_is_good(kept))
        return false;
    stream->dtype = cse_dtype_from_name(type);
    if (stream->dtype != CSE_FLOAT32 && stream->dtype != CSE_INT32)
        return false;
    while (text += length, text[strspn(text, " ")] != '\0') {
        int64_t *size = &stream->shape.dims[stream->shape.rank];
        if (stream->shape.rank == CSE_MAX_RANK - 1 ||
            sscanf(text, "%" SCNd64 "%n", size, &length) != 1 || *size < 1 || *size > INT32_MAX)
            return false;
        stream->shape.rank++;
    }
    stream->name = *name = cse_strdup(kept);
    return true;
}

static cse_status describe_by_settings(cse_input *input, const cse_settings *settings)
{
    command *self = input->self;
    input->sample_count = cse_settings_integer(settings, "sample_count");
    input->stream_count = cse_settings_count(settings, "streams");
    if (input->stream_count > CSE_MAX_STREAMS)
        return cse_fail(CSE_CONFIG, "data loader: %s: %d streams; accepted: at most %d",
                        cse_settings_origin(settings, "streams"), input->stream_count,
                        CSE_MAX_STREAMS);
    for (int s = 0; s < input->stream_count; s++) {
        const char *text = cse_settings_text_at(settings, "streams", s);
        if (!read_stream(text, &self->names[s], &input->streams[s]))
            return cse_fail(CSE_CONFIG,
                            "data loader: %s: \"%.80s\" is no stream: accepted are a name, float32 "
                            "or int32, and up to %d sizes, as in \"images float32 28 28\"",
                            cse_settings_origin(settings, "streams"), text, CSE_MAX_RANK - 1);
    }
    return CSE_OK;
}

static void command_close(cse_input *input)
{
    command *self = input->self;
    cse_answering_program_close(&self->program);
    for (int i = 0; self->arguments[i] != NULL; i++)
        free(self->arguments[i]);
    for (int s = 0; s < CSE_MAX_STREAMS; s++)
        free(self->names[s]);
    free(self->arguments);
    cse_text_clear(&self->line);
    free(self);
    input->self = NULL;
}

static cse_status begin(cse_input *input, const cse_settings *settings)
{
    static const int64_t first[1] = { 0 };
    command *self = input->self;
    cse_answer_tensors answer = { 0 };
    if (self->arguments[0] == NULL)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: command is empty: accepted is a program and its "
                        "arguments, as in [python3, samples.py]",
                        cse_settings_origin(settings, "command"));
    if (cse_confinement_view() != NULL)
        return cse_fail(CSE_PERMISSION,
                        "data loader: %s: a job of this server may not start programs for its "
                        "data: run it with csengine start, or store the samples in files",
                        cse_settings_origin(settings, "command"));
    CSE_TRY(note_files(self));
    if (cse_settings_has(settings, "sample_count") && cse_settings_count(settings, "streams") > 0)
        return describe_by_settings(input, settings);
    cse_status status = ask(self, first, NULL, 1, &answer);
    if (status == CSE_OK)
        status = describe(input, &answer);
    cse_answer_tensors_clear(&answer);
    return status;
}

static cse_status command_open(cse_input *input, const cse_settings *settings)
{
    command *self = input->self = cse_calloc(1, sizeof *self);
    const int count = cse_settings_count(settings, "command");
    self->arguments = cse_calloc((size_t)count + 1, sizeof *self->arguments);
    for (int i = 0; i < count; i++)
        self->arguments[i] = cse_strdup(cse_settings_text_at(settings, "command", i));
    self->program =
        cse_answering_program_new((const char *const *)self->arguments,
                                  (int)cse_settings_integer(settings, "timeout_seconds"));
    cse_status status = begin(input, settings);
    if (status == CSE_OK)
        snprintf(input->source, sizeof input->source, "%s", self->arguments[count > 1 ? 1 : 0]);
    else
        command_close(input);
    return status;
}

static const cse_answer_tensor *find(const cse_answer_tensors *answer, const char *name)
{
    for (int i = 0; i < answer->count; i++)
        if (strcmp(answer->tensors[i].name, name) == 0)
            return &answer->tensors[i];
    return NULL;
}

static cse_status take(const cse_input *input, const cse_answer_tensors *answer, int64_t count,
                       void *const outputs[])
{
    const command *self = input->self;
    for (int s = 0; s < input->stream_count; s++) {
        const cse_stream *stream = &input->streams[s];
        const cse_answer_tensor *tensor = find(answer, stream->name);
        cse_shape expected = { .rank = stream->shape.rank + 1, .dims = { count } };
        for (int i = 0; i < stream->shape.rank; i++)
            expected.dims[i + 1] = stream->shape.dims[i];
        if (tensor == NULL || tensor->dtype != stream->dtype ||
            !cse_shape_equal(tensor->shape, expected))
            return cse_fail(CSE_DATA,
                            "%s: answer to %.*s: tensor \"%.60s\" is missing, or has another type "
                            "or shape than in the first answer, or than the setting streams says",
                            self->arguments[0], (int)strcspn(self->line.data, "\n"),
                            self->line.data, stream->name);
        CSE_TRY(cse_answer_tensor_copy(tensor, outputs[s]));
    }
    return CSE_OK;
}

static cse_status command_read(cse_input *input, const int64_t *indices, int64_t count,
                               void *const outputs[])
{
    command *self = input->self;
    cse_answer_tensors answer = { 0 };
    CSE_TRY(ask(self, indices, input->epochs, count, &answer));
    cse_status status = take(input, &answer, count, outputs);
    cse_answer_tensors_clear(&answer);
    return status;
}

const cse_input_descriptor cse_input_command = {
    .name = "command",
    .summary = "tensors from a program that answers requests, in any language",
    .settings = settings_table,
    .open = command_open,
    .read = command_read,
    .close = command_close,
};
