/* A validation is not made much longer: when looking took longer than the validation and than
 * LEAST_SECONDS, as many of the next validations are passed over as it was longer. */
#include "run/infer/run_samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/position.h"
#include "dataloader/positions/left_out.h"
#include "dataloader/tables/class_names.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/base/types/shape.h"
#include "run/infer/end_tokens.h"
#include "run/infer/generation.h"
#include "run/infer/language_model.h"
#include "run/infer/prediction.h"
#include "run/infer/sample_view.h"
#include "run/infer/worst_samples.h"
#include "run/record/recorder.h"
#include "store/reader.h"

#define LEAST_SECONDS 2.0
#define MOST_SAMPLE_BYTES ((int64_t)1 << 24)

enum { MOST_VALIDATIONS = 32, MOST_PROMPT_TOKENS = 512 };

struct cse_run_samples {
    const cse_job_settings *settings;
    int64_t count, max_new_tokens;
    const cse_settings *section;
    cse_text_codec *codec; /* NULL: not looked for yet, or none */
    bool ended, has_data, has_codec;
    int64_t passed_over; /* validations that are not looked at */
    json_t *report;      /* of samples.json */
};

cse_run_samples *cse_run_samples_new(const cse_job_settings *settings)
{
    cse_run_samples *samples = cse_calloc(1, sizeof *samples);
    samples->settings = settings;
    samples->section = settings->samples;
    samples->count = cse_settings_integer(samples->section, "count");
    samples->max_new_tokens = cse_settings_integer(samples->section, "max_new_tokens");
    for (int i = 0; i < cse_settings_count(samples->section, "prompts"); i++)
        cse_settings_text_at(samples->section, "prompts", i); /* known to be read */
    return samples;
}

void cse_run_samples_destroy(cse_run_samples **samples)
{
    if (*samples == NULL)
        return;
    cse_text_codec_close(&(*samples)->codec);
    json_decref((*samples)->report);
    free(*samples);
    *samples = NULL;
}

static void keep(const cse_job_look *look, const char *name, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(7));
    if (text != NULL)
        cse_recorder_artefact(look->recorder, name, text);
    free(text);
}

/* ---- samples of data ---- */

/* The tokenizer of model_dir, or of the folder of the data, or bytes; none is no failure. */
static void find_codec(cse_run_samples *s, const cse_job_look *look, const cse_input *input)
{
    char folder[CSE_SOURCE_BYTES];
    const int64_t vocabulary = cse_model_vocabulary(look->model);
    const char *model_dir = s->settings->session.model_dir;
    if (s->has_codec)
        return;
    s->has_codec = true;
    if (cse_text_codec_find(&(cse_text_codec_places){ .model_dir = model_dir }, vocabulary,
                            &s->codec) == CSE_OK)
        return;
    if (cse_tokenizer_beside(input->source, folder, sizeof folder) &&
        cse_text_codec_open(folder, &s->codec) == CSE_OK)
        return;
    s->codec = NULL;
}

static int64_t sample_bytes(const cse_input *input)
{
    int64_t bytes = 0;
    for (int i = 0; i < input->stream_count; i++)
        bytes += cse_shape_elements(input->streams[i].shape) * 4 + 64;
    return bytes;
}

/* Memory of `count` samples of each stream, in `outputs`; to be freed as one. */
static void *outputs_for(const cse_input *input, int64_t count, void *outputs[])
{
    unsigned char *memory = cse_calloc((size_t)(sample_bytes(input) * count), 1), *at = memory;
    for (int i = 0; i < input->stream_count; i++) {
        outputs[i] = at;
        at += (cse_shape_elements(input->streams[i].shape) * 4 + 64) / 64 * 64 * count;
    }
    return memory;
}

static json_t *batching_json(const cse_dataloader *loader)
{
    const cse_batching *b = cse_dataloader_batching_view(loader);
    const cse_input *input = cse_dataloader_input_view(loader);
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)b->shuffle_seed);
    json_t *without = json_array();
    for (int64_t i = 0; b->without != NULL && i < b->without->count; i++)
        json_array_append_new(without, json_integer(b->without->samples[i]));
    return json_pack(
        "{s:s, s:o, s:I, s:I, s:I, s:I, s:b, s:s, s:b, s:I, s:b, s:b, s:o}", "input",
        input->descriptor->name, "source", cse_bytes_json(input->source, strlen(input->source)),
        "samples", (json_int_t)input->sample_count, "batch_size", (json_int_t)b->batch_size,
        "micro_batch_size", (json_int_t)b->micro_batch_size, "steps_per_epoch",
        (json_int_t)cse_dataloader_steps_per_epoch(loader), "shuffle", b->shuffle, "shuffle_seed",
        seed, "drop_last", b->drop_last, "skip_samples", (json_int_t)b->skip_samples, "stream",
        b->is_stream, "drawn", b->sampler != NULL, "without", without);
}

/* Samples of the data by their numbers, as epoch 0 has them. */
static cse_status add_samples(cse_run_samples *s, cse_dataloader *loader, const int64_t *numbers,
                              int64_t count, json_t *list)
{
    void *outputs[CSE_MAX_STREAMS];
    cse_status status = CSE_OK;
    const cse_input *input = cse_dataloader_input_view(loader);
    void *memory = outputs_for(input, 1, outputs);
    for (int64_t i = 0; i < count && status == CSE_OK; i++) {
        status = cse_dataloader_read_samples(loader, numbers[i], 1, outputs);
        if (status == CSE_OK)
            json_array_append_new(list, cse_sample_view(input, outputs, 0, numbers[i], s->codec));
    }
    free(memory);
    return status;
}

/* The data of the training, and the samples that its next step takes first. */
static cse_status look_at_data(cse_run_samples *s, const cse_job_look *look)
{
    cse_dataloader *loader = NULL;
    CSE_TRY(cse_dataloader_open(s->settings->train_dataloader->settings, s->settings->session.seed,
                                &loader));
    const cse_batching *batching = cse_dataloader_batching_view(loader);
    const cse_input *input = cse_dataloader_input_view(loader);
    json_t *report = batching_json(loader), *list = json_array();
    const bool is_empty = cse_dataloader_batch_samples(loader, look->step) == 0;
    cse_dataloader_choose_kind(loader, cse_dataloader_kind_of(loader, look->step));
    int64_t *numbers = cse_calloc((size_t)batching->micro_batch_size, sizeof *numbers);
    const int64_t size = is_empty ? 0 : batching->micro_batch_size;
    const int64_t most = s->count < size ? s->count : size;
    if (!is_empty)
        cse_position_samples(batching, input->sample_count,
                             cse_position_of(batching, input->sample_count, look->step, 0), numbers,
                             NULL);
    find_codec(s, look, input);
    cse_status status = sample_bytes(input) <= MOST_SAMPLE_BYTES
                            ? add_samples(s, loader, numbers, most, list)
                            : CSE_OK;
    json_object_set_new(report, "step", json_integer(look->step + 1));
    json_object_set_new(report, "examples", list);
    keep(look, "data.json", report);
    json_decref(report);
    free(numbers);
    cse_dataloader_close(&loader);
    return status;
}

/* ---- pictures with predictions ---- */

typedef struct looking {
    json_t *predictions; /* an array of arrays of classes */
    const cse_class_names *names;
} looking;

static cse_status on_predicted(void *self, const cse_predicted *predicted)
{
    looking *l = self;
    if (predicted->shape.rank != 1 || predicted->dtype != CSE_FLOAT32 ||
        predicted->shape.dims[0] < 2)
        return CSE_OK;
    const int64_t classes = predicted->shape.dims[0];
    for (int64_t i = 0; i < predicted->count; i++)
        json_array_append_new(
            l->predictions,
            cse_classes_json((const float *)predicted->values + i * classes, classes, l->names));
    return CSE_OK;
}

/* Shows each sample once: it stands in the report of all validations. */
static cse_status add_pictures(cse_run_samples *s, cse_dataloader *loader, int64_t count,
                               int64_t stride)
{
    json_t *pictures = json_array();
    int64_t *numbers = cse_calloc((size_t)count, sizeof *numbers);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = i * stride;
    cse_status status = add_samples(s, loader, numbers, count, pictures);
    json_object_set_new(s->report, "pictures", pictures);
    free(numbers);
    return status;
}

static cse_status look_at_pictures(cse_run_samples *s, const cse_job_look *look,
                                   cse_dataloader *loader, json_t *entry)
{
    cse_class_names names = { .count = 0 };
    looking l = { .names = &names };
    const cse_input *input = cse_dataloader_input_view(loader);
    const int64_t count = s->count < input->sample_count ? s->count : input->sample_count;
    const int64_t stride = input->sample_count / count; /* classes often follow one another */
    const bool shows = cse_picture_stream(input) >= 0 && sample_bytes(input) <= MOST_SAMPLE_BYTES;
    if (shows && json_object_get(s->report, "pictures") == NULL)
        CSE_TRY(add_pictures(s, loader, count, stride));
    if (!shows)
        return CSE_OK;
    const cse_prediction_options options = { .model = look->model,
                                             .loader = s->settings->val_dataloader->settings,
                                             .seed = s->settings->session.seed,
                                             .count = count,
                                             .stride = stride,
                                             .may_be_fewer = true };
    cse_class_names_find(NULL, "", s->settings->session.model_dir, &names);
    l.predictions = json_array();
    cse_status status = cse_predict(&options, on_predicted, &l);
    json_object_set_new(entry, "predictions", l.predictions);
    cse_class_names_clear(&names);
    return status;
}

/* ---- texts ---- */

static bool on_token(void *self, const cse_generated_token *token)
{
    cse_text_add_bytes(self, token->bytes, token->byte_count);
    return true;
}

static cse_status add_text(cse_run_samples *s, const cse_job_look *look, const char *prompt,
                           json_t *texts)
{
    cse_generation *generation = NULL;
    cse_generation_settings settings = { .sampling = { .temperature = 0, .top_p = 1 },
                                         .max_new_tokens = s->max_new_tokens };
    cse_generation_result result = { .tokens = 0 };
    cse_end_tokens ends = { .count = 0 };
    cse_text text = { 0 };
    int32_t *tokens = NULL;
    int64_t count = 0;
    cse_status status = cse_text_codec_encode(s->codec, prompt, strlen(prompt), &tokens, &count);
    if (status == CSE_OK && (count == 0 || count > MOST_PROMPT_TOKENS))
        status = cse_fail(CSE_CONFIG,
                          "samples.prompts: a prompt has %lld tokens; accepted are 1 "
                          "to %d",
                          (long long)count, MOST_PROMPT_TOKENS);
    if (status == CSE_OK)
        status = cse_generation_new(&(cse_generation_options){ .model = look->model,
                                                               .codec = s->codec,
                                                               .max_new_tokens = s->max_new_tokens,
                                                               .longest_prompt = count },
                                    &generation);
    if (status == CSE_OK)
        status = cse_end_tokens_find(look->model, s->codec, NULL, false, &ends);
    settings.ends = ends.tokens;
    settings.end_count = ends.count;
    if (status == CSE_OK)
        status = cse_generate(generation,
                              &(cse_generation_request){ .settings = &settings,
                                                         .prompt = tokens,
                                                         .count = count,
                                                         .listener = on_token,
                                                         .self = &text },
                              &result);
    if (status == CSE_OK)
        json_array_append_new(texts, cse_bytes_json(text.size > 0 ? text.data : "", text.size));
    cse_generation_destroy(&generation);
    cse_text_clear(&result.rest);
    cse_text_clear(&text);
    free(tokens);
    return status;
}

static cse_status look_at_texts(cse_run_samples *s, const cse_job_look *look, json_t *entry)
{
    const int count = cse_settings_count(s->section, "prompts");
    json_t *texts, *prompts;
    if (count == 0 || s->codec == NULL)
        return CSE_OK;
    prompts = json_array();
    texts = json_array();
    json_object_set_new(entry, "texts", texts);
    cse_status status = CSE_OK;
    for (int i = 0; i < count && status == CSE_OK; i++) {
        const char *prompt = cse_settings_text_at(s->section, "prompts", i);
        json_array_append_new(prompts, cse_bytes_json(prompt, strlen(prompt)));
        status = add_text(s, look, prompt, texts);
    }
    json_object_set_new(s->report, "prompts", prompts);
    return status;
}

/* ---- the worst samples ---- */

/* None where the samples are larger than anybody looks at. */
static cse_status look_at_worst(cse_run_samples *s, const cse_job_look *look,
                                cse_dataloader *loader)
{
    const cse_validated_samples *validated = look->samples;
    const cse_input *input = cse_dataloader_input_view(loader);
    cse_class_names names = { .count = 0 };
    json_t *report = NULL;
    if (validated == NULL || !validated->whole || sample_bytes(input) > MOST_SAMPLE_BYTES)
        return CSE_OK;
    find_codec(s, look, input);
    cse_class_names_find(NULL, "", s->settings->session.model_dir, &names);
    cse_status status = cse_worst_samples_json(validated, loader, &names, s->codec, &report);
    if (status == CSE_OK) {
        json_object_set_new(report, "step", json_integer(look->step));
        keep(look, "validation.json", report);
    }
    json_decref(report);
    cse_class_names_clear(&names);
    return status;
}

/* Both read the data: opening them can take longer than all that is read. */
static cse_status look_at_samples(cse_run_samples *s, const cse_job_look *look, json_t *entry)
{
    cse_dataloader *loader = NULL;
    CSE_TRY(cse_dataloader_open(s->settings->val_dataloader->settings, s->settings->session.seed,
                                &loader));
    cse_status status = look_at_worst(s, look, loader);
    if (status == CSE_OK)
        status = look_at_pictures(s, look, loader, entry);
    cse_dataloader_close(&loader);
    return status;
}

/* ---- a validation ---- */

/* What an earlier start of the run has kept, up to the step that this one began with. */
static void read_earlier(cse_run_samples *s, int64_t step)
{
    cse_text text = { 0 };
    cse_store_reader *reader = NULL;
    s->report = NULL;
    if (cse_store_reader_open(s->settings->session.model_dir, &reader) == CSE_OK &&
        cse_store_reader_artefact(reader, "samples.json", &text, NULL, 0) == CSE_OK)
        s->report = json_loadb(text.data, text.size, 0, NULL);
    cse_store_reader_close(&reader);
    cse_text_clear(&text);
    json_t *list = json_object_get(s->report, "validations");
    if (!json_is_array(list)) {
        json_decref(s->report);
        s->report = json_pack("{s:[]}", "validations");
        return;
    }
    json_object_del(s->report, "pictures"); /* the data may be others */
    for (size_t i = json_array_size(list); i-- > 0;)
        if (json_integer_value(json_object_get(json_array_get(list, i), "step")) >= step)
            json_array_remove(list, i);
}

static cse_status look_at_validation(cse_run_samples *s, const cse_job_look *look)
{
    if (s->report == NULL)
        read_earlier(s, look->step);
    json_t *list = json_object_get(s->report, "validations");
    json_t *entry = json_pack("{s:I}", "step", (json_int_t)look->step);
    cse_status status = look_at_samples(s, look, entry);
    if (status == CSE_OK)
        status = look_at_texts(s, look, entry);
    if (status == CSE_OK && json_object_size(entry) > 1) {
        json_array_append(list, entry);
        while (json_array_size(list) > MOST_VALIDATIONS)
            json_array_remove(list, 0);
        keep(look, "samples.json", s->report);
    }
    json_decref(entry);
    return status;
}

/* Whether a failure is one of the data, or of the settings of their loader. */
static bool is_of_data(cse_status status)
{
    return status == CSE_DATA || status == CSE_NO_INPUT || status == CSE_CONFIG ||
           status == CSE_PERMISSION || status == CSE_IO || status == CSE_UNAVAILABLE;
}

static cse_status look_at(cse_run_samples *s, const cse_job_look *look)
{
    if (!s->has_data) {
        s->has_data = true;
        const cse_status status = look_at_data(s, look);
        /* The training opens the same data next, and tells what is wrong with them. */
        s->ended = is_of_data(status);
        if (status != CSE_OK && !s->ended)
            return status;
    }
    if (s->ended)
        return CSE_OK;
    if (!look->validated || s->passed_over-- > 0)
        return CSE_OK;
    const int64_t begun_ns = cse_clock_ns();
    cse_status status = look_at_validation(s, look);
    const double seconds = (double)(cse_clock_ns() - begun_ns) * 1e-9;
    const double least = fmax(look->seconds, LEAST_SECONDS);
    s->passed_over = seconds > least ? (int64_t)(seconds / least) : 0;
    return status;
}

void cse_run_samples_look(void *self, const cse_job_look *look)
{
    cse_run_samples *s = self;
    if (s->ended || s->count == 0 || look_at(s, look) == CSE_OK)
        return;
    s->ended = true;
    cse_log_line(CSE_LOG_WARNING, "samples for the pages are not shown any more: %s",
                 cse_error_message());
}
