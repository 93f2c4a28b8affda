/* One text a file. */
#include "cli/models/predict_texts.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/models/prediction_rows.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/report.h"
#include "cli/terminal/table.h"
#include "dataloader/files/whole_file.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/class_scores.h"
#include "run/infer/language_model.h"
#include "run/infer/sample_view.h"
#include "run/infer/text_prediction.h"

enum { MOST_TEXT_BYTES = 16 << 20, MOST_TOKEN_BYTES = 256 };

typedef struct predicting {
    const cse_predict_texts_options *options;
    cse_text_codec *codec;
    cse_text_predictor *predictor;
    cse_table *table;
    cse_predict_texts_result *result;
} predicting;

/* e^(-log likelihood / token); NaN of a single token, which none precedes. */
static double perplexity_of(const cse_text_prediction *p)
{
    return p->tokens > 1 ? exp(-p->log_likelihood / (double)(p->tokens - 1)) : (double)NAN;
}

static json_t *path_json(const char *path)
{
    return cse_bytes_json(path, strlen(path));
}

static void show_json(const predicting *p, const char *path, const cse_text_prediction *prediction,
                      const cse_class_score *scores, const cse_prediction_row *row)
{
    json_t *next = json_array();
    for (int64_t k = 0; k < p->options->top && k < prediction->vocabulary; k++) {
        cse_text text = { 0 };
        json_t *entry = json_pack("{s:I}", "token", (json_int_t)scores[k].number);
        if (cse_text_codec_decode(p->codec, (int32_t)scores[k].number, &text) == CSE_OK)
            json_object_set_new(entry, "text", cse_bytes_json(text.data, text.size));
        json_object_set_new(entry, "probability", json_real(scores[k].probability));
        json_array_append_new(next, entry);
        cse_text_clear(&text);
    }
    json_t *line = json_pack("{s:o, s:I, s:o, s:o, s:o}", "file", path_json(path), "tokens",
                             (json_int_t)prediction->tokens, "log_likelihood",
                             cse_json_finite(prediction->log_likelihood), "perplexity",
                             cse_json_finite(perplexity_of(prediction)), "next", next);
    cse_prediction_row_json(row, line);
    cse_json_print(line);
    json_decref(line);
}

/* What a token stands for; its number where it stands for no text. */
static void add_token(const predicting *p, const cse_class_score *score, cse_text *row)
{
    cse_text text = { 0 };
    char printable[MOST_TOKEN_BYTES];
    if (cse_text_codec_decode(p->codec, (int32_t)score->number, &text) == CSE_OK && text.size > 0 &&
        memchr(text.data, '\0', text.size) == NULL) {
        cse_text_printable(text.data, printable, sizeof printable);
        for (char *at = printable; *at != '\0'; at++)
            if (*at == '\n' || *at == '\t')
                cse_text_add(row, "%s", *at == '\n' ? "\\n" : "\\t");
            else
                cse_text_add(row, "%c", *at);
    } else {
        cse_text_add(row, "token %lld", (long long)score->number);
    }
    cse_text_clear(&text);
}

/* The tokens that follow are the predictions, in quotation marks where they are shown. */
static void make_row(const predicting *p, const char *path, const cse_text_prediction *prediction,
                     const cse_class_score *scores, cse_prediction_row *row)
{
    char printable[PATH_MAX];
    const char *quote = p->table != NULL ? "\"" : "";
    cse_text_printable(path, printable, sizeof printable);
    row->sample = p->result->texts;
    row->place = cse_strdup(printable);
    for (int64_t k = 0; k < p->options->top && k < prediction->vocabulary; k++) {
        cse_text token = { 0 };
        cse_text_add(&token, "%s", quote);
        add_token(p, &scores[k], &token);
        cse_text_add(&token, "%s", quote);
        cse_prediction_row_add(row, token.data, scores[k].probability);
        cse_text_clear(&token);
    }
}

static void show(const predicting *p, const char *path, const cse_text_prediction *prediction,
                 const cse_class_score *scores)
{
    const double perplexity = perplexity_of(prediction);
    cse_prediction_row row = { .sample = 0 };
    make_row(p, path, prediction, scores, &row);
    if (strcmp(p->options->format, "json") == 0)
        show_json(p, path, prediction, scores, &row);
    else if (p->table == NULL)
        cse_prediction_row_csv(&row, p->result->texts == 0);
    if (p->table != NULL) {
        cse_prediction_row_table(&row, p->table);
        cse_table_add(p->table, "%lld", (long long)prediction->tokens);
        if (isfinite(perplexity))
            cse_table_add(p->table, "%.6g", perplexity);
        else
            cse_table_add(p->table, "%s", "");
    }
    cse_prediction_row_clear(&row);
}

static cse_status predict_file(predicting *p, const char *path, cse_whole_file *file)
{
    cse_text_prediction prediction;
    CSE_TRY(cse_whole_file_read(file, path, MOST_TEXT_BYTES));
    /* Editors end a file with a newline that is no part of the text. */
    const size_t size =
        file->size > 0 && file->bytes[file->size - 1] == '\n' ? file->size - 1 : file->size;
    if (size == 0)
        return cse_fail(CSE_DATA, "%s: holds no text", path);
    CSE_TRY(cse_text_predict(p->predictor, (const char *)file->bytes, size, &prediction));
    cse_class_score *scores = cse_calloc((size_t)prediction.vocabulary, sizeof *scores);
    cse_class_scores(prediction.logits, prediction.vocabulary, scores);
    show(p, path, &prediction, scores);
    free(scores);
    p->result->texts++;
    return CSE_OK;
}

/* What is wrong with the file, and not with the model, leaves the others. */
static cse_status tell_bad(predicting *p, const char *path, cse_status status)
{
    if (status != CSE_DATA && status != CSE_NO_INPUT && status != CSE_PERMISSION)
        return status;
    if (p->result->bad_files++ == 0)
        p->result->first_bad = status;
    if (strcmp(p->options->format, "json") == 0) {
        const char *message = cse_error_message();
        json_t *line = json_pack("{s:o, s:o}", "file", path_json(path), "error",
                                 cse_bytes_json(message, strlen(message)));
        cse_json_print(line);
        json_decref(line);
    }
    cse_report(status);
    return CSE_OK;
}

static cse_status predict_files(predicting *p)
{
    static const char *const heads[] = { CSE_PREDICTION_HEADS, "TOKENS", "PERPLEXITY", NULL };
    cse_whole_file file = { 0 };
    cse_status status = CSE_OK;
    p->table = strcmp(p->options->format, "table") == 0 ? cse_table_new(heads) : NULL;
    for (int i = 0; i < p->options->path_count && status == CSE_OK; i++) {
        status = predict_file(p, p->options->paths[i], &file);
        if (status != CSE_OK)
            status = tell_bad(p, p->options->paths[i], status);
    }
    if (status == CSE_OK && p->table != NULL && p->result->texts > 0)
        cse_table_print(p->table, stdout);
    cse_table_destroy(&p->table);
    cse_whole_file_clear(&file);
    return status;
}

cse_status cse_predict_texts(const cse_predict_texts_options *options,
                             const cse_loaded_model *loaded, cse_predict_texts_result *result)
{
    predicting p = { .options = options, .result = result };
    const int64_t vocabulary = cse_model_vocabulary(loaded->model);
    *result = (cse_predict_texts_result){ .texts = 0 };
    if (vocabulary == 0)
        return cse_fail(CSE_USAGE,
                        "predict: files are pictures for a data loader of pictures (image_folder, "
                        "tar_samples), and texts for a language model; the configuration has the "
                        "data loader %s and the model %s",
                        options->loader != NULL ? options->loader->name : "none",
                        options->model_name);
    CSE_TRY(cse_text_codec_find(&(cse_text_codec_places){ .given = options->tokenizer,
                                                          .weights = loaded->path,
                                                          .model_dir = options->model_dir },
                                vocabulary, &p.codec));
    p.predictor = cse_text_predictor_new(loaded->model, p.codec);
    cse_status status = predict_files(&p);
    cse_text_predictor_destroy(&p.predictor);
    cse_text_codec_close(&p.codec);
    return status;
}
