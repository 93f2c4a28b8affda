/* The section `model` is what `checkpoint convert --print_model` prints of the folder or file, and
 * fit.weights names that. Steps are counted by the data loader of the configuration itself, so that
 * they are right with --set as well. */
#include "cli/models/fine_tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/option_values.h"
#include "dataloader/input.h"
#include "engine/base/json.h"
#include "engine/base/machine.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/open.h"

/* A packed sample of 512 tokens holds about ten short conversations, so that two samples are a
 * usual batch for an adapter. With larger batches few conversations would be few steps. */
enum { MOST_WARM_UP = 100, WARM_UP_PART = 20, USUAL_BATCH = 2, USUAL_RANK = 16 };

/* Few conversations are repeated in more epochs, since a handful of steps teaches nothing new. */
enum { USUAL_EPOCHS = 3, MOST_EPOCHS = 6, ENOUGH_STEPS = 60 };

/* An adapter learns best at about ten times the rate of all weights, and the narrower the model,
 * the higher it is: 5e-4 at a width of 2000, by that width over the model's (Schulman et al.
 * 2025). */
static const double full_rate = 2e-5, usual_rate = 5e-4, usual_width = 2000, width_power = 0.78,
                    highest_rate = 1e-3;

cse_status cse_fine_tuning_read(const cse_command_line *line, cse_fine_tuning *t)
{
    static const char *const methods[] = { "lora", "dora", "full", NULL };
    static const int64_t ranks[] = { 1, 4096 }, counts[] = { 1, 1 << 20 };
    static const double rates[] = { 1e-12, 10 }; /* 0 would train nothing */
    *t = (cse_fine_tuning){ .model = line->arguments[0],
                            .paths = line->arguments + 1,
                            .path_count = line->argument_count - 1,
                            .validation = cse_option_value(line, "validation"),
                            .method = "lora",
                            .loss_on = cse_option_value(line, "loss_on"),
                            .output = cse_option_value(line, "output"),
                            .rank = USUAL_RANK,
                            .batch_size = USUAL_BATCH };
    CSE_TRY(cse_option_word(line, "method", methods, &t->method));
    CSE_TRY(cse_option_integer(line, "rank", ranks, &t->rank));
    CSE_TRY(cse_option_integer(line, "num_epochs", counts, &t->num_epochs));
    CSE_TRY(cse_option_integer(line, "batch_size", counts, &t->batch_size));
    CSE_TRY(cse_option_integer(line, "sequence_length", counts, &t->sequence_length));
    CSE_TRY(cse_option_number(line, "learning_rate", rates, &t->learning_rate));
    if (strcmp(t->method, "full") == 0 && cse_option_value(line, "rank") != NULL)
        return cse_fail(CSE_USAGE, "fine-tune: --rank is of an adapter; --method full has none");
    return CSE_OK;
}

/* ---- the configuration ---- */

/* Each replica computes on a core of its own, and has at least one sample of a step; how many there
 * are changes no bit of the result. */
static long long replicas_of(const cse_fine_tuning *t)
{
    const cse_machine machine = cse_machine_look();
    const int allowed = machine.quota_cores >= 1 && machine.quota_cores < machine.cores
                            ? (int)machine.quota_cores
                            : machine.cores;
    const int64_t most = allowed < t->batch_size ? allowed : t->batch_size;
    return most > 1 ? most : 1;
}

static double usual_rate_of(const cse_fine_tuning *t, const cse_yaml_node *settings)
{
    const cse_yaml_node *found = cse_yaml_find(settings, "hidden_size");
    const double width = found != NULL && found->text != NULL ? strtod(found->text, NULL) : 0;
    if (strcmp(t->method, "full") == 0)
        return full_rate;
    const double rate = usual_rate * pow(width > 0 ? usual_width / width : 1, width_power),
                 digits = 1e6;
    return rate > highest_rate ? highest_rate : round(rate * digits) / digits;
}

/* The model's folder or file as a name for what is made of it. */
static void add_name(const char *model, cse_text *out)
{
    size_t length = strlen(model);
    while (length > 1 && model[length - 1] == '/')
        length--;
    size_t begin = length;
    while (begin > 0 && model[begin - 1] != '/')
        begin--;
    if (length - begin > 5 && strncmp(model + length - 5, ".gguf", 5) == 0)
        length -= 5;
    cse_text name = { 0 }, path = { 0 };
    cse_text_add(&name, "%.*s", (int)(length - begin), model + begin);
    cse_text_add(&path, "./%s-tuned", name.data[0] == '.' ? "model" : name.data);
    cse_json_add_string(out, path.data);
    cse_text_clear(&name);
    cse_text_clear(&path);
}

static void add_training(const cse_fine_tuning *t, double rate, int64_t steps, cse_text *out)
{
    cse_text_add(out, "    model_dir: ");
    add_name(t->model, out);
    cse_text_add(out, "\n    backend:\n      cluster_config: {num_csx: %lld}", replicas_of(t));
    if (strcmp(t->method, "full") != 0)
        cse_text_add(out,
                     "\n    adapters:\n      default: {r: %lld, lora_alpha: %lld, target_modules: "
                     "all-linear%s}",
                     (long long)t->rank, (long long)(2 * t->rank),
                     strcmp(t->method, "dora") == 0 ? ", use_dora: true" : "");
    const int64_t part = steps / WARM_UP_PART, warm = part < MOST_WARM_UP ? part : MOST_WARM_UP;
    cse_text_add(out, "\n    optimizer:\n      AdamW: {weight_decay: 0.0, eps: 1.0e-8, "
                      "eps_added_to: corrected}\n"
                      "    schedulers:\n");
    if (warm > 0)
        cse_text_add(out,
                     "      - LinearLR: {initial_learning_rate: 0.0, end_learning_rate: %.9g, "
                     "total_iters: %lld}\n",
                     rate, (long long)warm);
    cse_text_add(out,
                 "      - CosineDecayLR: {initial_learning_rate: %.9g, end_learning_rate: 0.0, "
                 "total_iters: %lld}\n",
                 rate, (long long)(steps > warm ? steps - warm : 1));
    cse_text_add(out,
                 "    precision:\n      max_gradient_norm: 1.0\n%s    loop:\n      num_epochs: "
                 "%lld\n    logging:\n      log_steps: %d\n    seed: 1\n",
                 strcmp(t->method, "lora") == 0 ? "      gradient_sums: sample\n" : "",
                 (long long)t->num_epochs, steps < 100 ? 1 : 10);
}

/* A data loader of conversations. */
typedef struct talks {
    const char *name;
    const char *const *paths;
    int count;
    bool shuffle;
} talks;

static void add_loader(const cse_fine_tuning *t, const talks *l, int64_t length, cse_text *out)
{
    cse_text_add(out, "    %s:\n      data_processor: conversations\n      path: [", l->name);
    for (int i = 0; i < l->count; i++) {
        cse_text_add(out, i > 0 ? ", " : "");
        cse_json_add_string(out, l->paths[i]);
    }
    cse_text_add(out, "]\n      tokenizer: ");
    cse_json_add_string(out, t->model);
    cse_text_add(out, "\n      sequence_length: %lld\n      packing: true\n", (long long)length);
    if (t->loss_on != NULL) {
        cse_text_add(out, "      loss_on: ");
        cse_json_add_string(out, t->loss_on);
        cse_text_add(out, "\n");
    }
    cse_text_add(out, "      batch_size: %lld\n      micro_batch_size: 1\n      shuffle: %s\n",
                 (long long)t->batch_size, l->shuffle ? "true" : "false");
}

/* The tokens of a sample, where the command line says none: as many as the model has places, and
 * not more than a step on a small computer should hold. */
static int64_t length_of(const cse_fine_tuning *t, const cse_yaml_node *settings)
{
    enum { USUAL = 512 };
    const cse_yaml_node *found = cse_yaml_find(settings, "max_position_embeddings");
    const int64_t most = found != NULL && found->text != NULL ? strtoll(found->text, NULL, 10) : 0;
    if (t->sequence_length > 0)
        return t->sequence_length;
    return most > 0 && most < USUAL ? most : USUAL;
}

/* `steps` 0: they are not known yet. */
static cse_status write_text(const cse_fine_tuning *t, cse_weights *weights, int64_t steps,
                             cse_text *out)
{
    const char *model = NULL;
    cse_yaml_node *settings = NULL;
    CSE_TRY(cse_map_model_section(weights->arena, weights->config, &model, &settings));
    const int64_t length = length_of(t, settings);
    cse_yaml_print_block(cse_map_configuration(weights->arena, model, settings), out);
    add_training(t, t->learning_rate > 0 ? t->learning_rate : usual_rate_of(t, settings), steps,
                 out);
    cse_text_add(out, "  fit:\n    weights: ");
    cse_json_add_string(out, t->model);
    cse_text_add(out, "\n");
    add_loader(t, &(talks){ "train_dataloader", t->paths, t->path_count, true }, length, out);
    if (t->validation != NULL)
        add_loader(t, &(talks){ "val_dataloader", &t->validation, 1, false }, length, out);
    return CSE_OK;
}

static cse_status count_steps(const cse_command_line *line, const char *configuration,
                              int64_t *steps)
{
    cse_prepared_job job;
    cse_dataloader *loader = NULL;
    cse_status status = cse_job_prepare_text(line, configuration, CSE_JOB_TRAIN, &job);
    if (status == CSE_OK)
        status = cse_dataloader_open(job.settings.train_dataloader->settings,
                                     job.settings.session.seed, &loader);
    if (status == CSE_OK)
        status = cse_compute_num_steps(&job.settings.loop, cse_dataloader_steps_per_epoch(loader),
                                       0, steps);
    cse_dataloader_close(&loader);
    cse_job_clear(&job);
    return status;
}

/* The number of epochs for data of which the usual number has `usual_steps`: enough for
 * ENOUGH_STEPS, and no more than MOST_EPOCHS. */
static int64_t epochs_of(int64_t usual_steps)
{
    const int64_t of_one = usual_steps > USUAL_EPOCHS ? usual_steps / USUAL_EPOCHS : 1;
    const int64_t needed = (ENOUGH_STEPS + of_one - 1) / of_one;
    return needed > MOST_EPOCHS ? MOST_EPOCHS : needed < USUAL_EPOCHS ? USUAL_EPOCHS : needed;
}

/* The number of steps of the configuration that is written without knowing it. */
static cse_status find_steps(const cse_command_line *line, const cse_fine_tuning *t,
                             cse_weights *weights, int64_t *steps)
{
    cse_text counted = { 0 };
    cse_status status = write_text(t, weights, 0, &counted);
    if (status == CSE_OK)
        status = count_steps(line, counted.data, steps);
    cse_text_clear(&counted);
    return status;
}

cse_status cse_fine_tuning_write(const cse_command_line *line, const cse_fine_tuning *tuning,
                                 cse_text *configuration)
{
    cse_weights *weights = NULL;
    cse_fine_tuning t = *tuning;
    int64_t steps = 0;
    if (t.num_epochs == 0)
        t.num_epochs = USUAL_EPOCHS;
    CSE_TRY(cse_weights_open_ours(t.model, &(cse_weights_options){ 0 }, &weights));
    cse_status status = CSE_OK;
    if (weights->config == NULL)
        status = cse_fail(CSE_DATA, "%s: does not say what model it belongs to", t.model);
    if (status == CSE_OK)
        status = find_steps(line, &t, weights, &steps);
    if (status == CSE_OK && tuning->num_epochs == 0 && steps < ENOUGH_STEPS) {
        t.num_epochs = epochs_of(steps);
        status = find_steps(line, &t, weights, &steps);
    }
    if (status == CSE_OK)
        status = write_text(&t, weights, steps, configuration);
    cse_weights_close(&weights);
    return status;
}
