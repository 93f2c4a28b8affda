/* `csengine embed`: one vector of each text, by a model of head base with pooling. */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments/option_values.h"
#include "cli/models/embedding.h"
#include "cli/runs/job.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "csengine/model.h"
#include "dataloader/formats/npy_writer.h"
#include "dataloader/input.h"
#include "engine/base/config/settings.h"
#include "run/infer/loaded_model.h"
#include "run/infer/prediction.h"

enum { PLACE_BYTES = 512 };

typedef struct embedding {
    const cse_command_line *line;
    const char *format;
    cse_npy_writer *npy;
    int64_t texts;
} embedding;

static cse_status show(const cse_predicted *predicted, int64_t i)
{
    char place[PLACE_BYTES] = "";
    const int64_t count = cse_shape_elements(predicted->shape);
    const float *vector = (const float *)predicted->values + i * count;
    const cse_element_place where = { .sample = predicted->first + i, .whole = true };
    predicted->input->descriptor->locate(predicted->input, &where, place, sizeof place);
    json_t *list = json_array();
    for (int64_t k = 0; k < count; k++)
        json_array_append_new(list, cse_json_finite(vector[k]));
    json_t *row = json_pack("{s:I, s:s, s:o}", "text", (json_int_t)(predicted->first + i), "place",
                            place, "embedding", list);
    cse_json_print(row);
    json_decref(row);
    return CSE_OK;
}

static cse_status on_predicted(void *self, const cse_predicted *predicted)
{
    embedding *e = self;
    e->texts += predicted->count;
    if (strcmp(e->format, "npy") == 0) {
        if (e->npy == NULL)
            CSE_TRY(cse_npy_writer_open(cse_option_value(e->line, "file"), predicted->shape,
                                        predicted->dtype, &e->npy));
        return cse_npy_writer_add(e->npy, predicted->values, predicted->count);
    }
    for (int64_t i = 0; i < predicted->count; i++)
        CSE_TRY(show(predicted, i));
    return CSE_OK;
}

static cse_status read_options(embedding *e)
{
    static const char *const formats[] = { "json", "npy", NULL };
    e->format = cse_option_value(e->line, "file") != NULL ? "npy" : "json";
    CSE_TRY(cse_option_word(e->line, "format", formats, &e->format));
    return (strcmp(e->format, "npy") == 0) == (cse_option_value(e->line, "file") != NULL)
               ? CSE_OK
               : cse_fail(CSE_USAGE, "embed: --format npy needs --file NAME.npy, and --file is for "
                                     "it alone");
}

static cse_status embed(embedding *e, const cse_job_settings *settings,
                        const cse_embedding_texts *texts)
{
    cse_loaded_model loaded = { .model = NULL };
    cse_prediction_options options = { .seed = settings->session.seed };
    CSE_TRY(cse_embedding_check(settings));
    CSE_TRY(cse_embedding_loader(texts, settings, &options.loader));
    CSE_TRY(cse_loaded_model_open(settings, &loaded));
    options.model = loaded.model;
    cse_status status = cse_predict(&options, on_predicted, e);
    if (e->npy != NULL)
        status = cse_npy_writer_close(&e->npy, status);
    if (status == CSE_OK && !cse_option_is_on(e->line, "quiet"))
        cse_print_to(stderr, "%lld texts; %s\n", (long long)e->texts, loaded.described);
    return status;
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job = { .config = NULL };
    embedding e = { .line = line };
    cse_embedding_texts texts = { .paths = line->arguments + 1,
                                  .path_count = line->argument_count - 1,
                                  .column = cse_option_value(line, "text"),
                                  .vocabulary = cse_option_value(line, "vocabulary") };
    static const int64_t lengths[] = { 4, 1 << 16 };
    cse_status status = read_options(&e);
    if (status == CSE_OK)
        status = cse_option_integer(line, "max_sequence_length", lengths, &texts.length);
    if (status == CSE_OK)
        status = cse_embedding_prepare(line, &texts, &job);
    if (status == CSE_OK)
        status = embed(&e, &job.settings, &texts);
    const int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_finish();
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    { "text", "NAME", NULL, "column, or member of a line, that is the text; text" },
    { "pooling", "KIND", NULL,
      "of a folder that says none: mean, cls, max or mean_sqrt_len_tokens" },
    { "max_sequence_length", "N", NULL,
      "tokens of a text, of which more are cut; as the folder or the data loader says" },
    { "vocabulary", "PATH", NULL,
      "vocab.txt, tokenizer.json, or a folder with one; that of the folder or the data "
      "loader" },
    { "format", "FORMAT", NULL, "json (one line a text; default), npy (all vectors, to --file)" },
    { "file", "NAME.npy", NULL, "the file that --format npy writes" },
    { "quiet", NULL, NULL, "prints no summary" },
    CSE_INFERENCE_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "embed all-MiniLM-L6-v2 questions.txt --file questions.npy",
      "the vectors of all lines of a file, by a folder of sentence-transformers" },
    { "embed pairs.yaml articles.jsonl --text title", "those of a member of JSON lines, by a run" },
    { 0 },
};

const cse_command cse_command_embed = {
    .name = "embed",
    .group = CSE_GROUP_RUN,
    .summary = "makes one vector of each text",
    .arguments = "CONFIG.yaml|FOLDER TEXTS ...",
    .doc = "Takes texts from lines (.txt), tables (.csv, .tsv) and JSON lines (.jsonl), and prints "
           "or writes a vector of each, in their order. The model is that of a configuration, a "
           "text_encoder with head base and pooling, with the weights of --checkpoint_path or of "
           "the newest checkpoint of model_dir; or a folder of Hugging Face, whose modules.json "
           "says the pooling and whether vectors have the length 1, as sentence-transformers "
           "takes it.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 2,
    .max_arguments = 100000,
    .values = "format=json|npy pooling=mean|cls|max|mean_sqrt_len_tokens",
    .examples = examples,
    .computes = true,
    .run = run,
};
