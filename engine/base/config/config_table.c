/* Every setting of CONFIG.yaml: name, type, default, range, one line of documentation.
 *
 * Names and nesting are the ModelZoo Trainer's, so that its configurations load here. Whatever is
 * accepted has an effect, but for the hints of cluster_table.h, which say why they have none. */
#include "engine/base/config/config_table.h"

#include <stddef.h>

#include "engine/base/config/alert_settings.h"
#include "engine/base/config/average_settings.h"
#include "engine/base/config/cluster_table.h"
#include "engine/base/config/loss_settings.h"
#include "engine/base/config/precision_settings.h"
#include "engine/base/config/recompute_settings.h"
#include "engine/base/config/states_settings.h"
#include "engine/base/log.h"

/* Steps are signed 32-bit numbers in the reference; the same bound keeps files compatible. */
#define MAX_STEPS 2147483647.0
/* 2^53 - 1: larger integers are not exact in readers that use doubles. */
#define MAX_SEED 9007199254740991.0

static const cse_setting loop_table[] = {
    { "num_steps", CSE_SETTING_INTEGER, "null", 1, MAX_STEPS, NULL,
      "steps of the run, counted from its first", NULL },
    { "max_steps", CSE_SETTING_INTEGER, "null", 1, MAX_STEPS, NULL,
      "step at which training ends, counted from the first run", NULL },
    { "num_epochs", CSE_SETTING_INTEGER, "null", 1, MAX_STEPS, NULL,
      "passes over the training data; not together with num_steps", NULL },
    { "steps_per_epoch", CSE_SETTING_INTEGER, "null", 1, MAX_STEPS, NULL,
      "steps of one epoch, at most those the data has", NULL },
    { "eval_frequency", CSE_SETTING_NUMBER, "null", 0, MAX_STEPS, NULL,
      "training steps between validations, below 1 a fraction of the run; null or 0: one, at the "
      "end",
      NULL },
    { "eval_steps", CSE_SETTING_INTEGER, "null", 1, MAX_STEPS, NULL,
      "batches of a validation; null: all", NULL },
    { "diverged_factor", CSE_SETTING_NUMBER, "1000", 0, 1e30, NULL,
      "a training has diverged whose loss ends above this many times that of its first steps; 0: "
      "none has",
      NULL },
    { 0 },
};

static const cse_setting keep_best_table[] = {
    { "metric", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "of the validation after a checkpoint's step: val_loss or loss, val_accuracy or accuracy, "
      "with "
      "several data loaders validate_0/loss, ...",
      NULL },
    { "goal", CSE_SETTING_CHOICE, "null", 0, 0, "min|max",
      "which value is the best; null: min for a loss, max for any other metric", NULL },
    { 0 },
};

static const cse_setting checkpoint_table[] = {
    { "steps", CSE_SETTING_INTEGER, "null", 0, MAX_STEPS, NULL,
      "steps between checkpoints, besides the last one; null or 0: by time only", NULL },
    { "minutes", CSE_SETTING_NUMBER, "10", 0, MAX_STEPS, NULL,
      "a checkpoint follows when the last one is so old; 0: by steps only", NULL },
    { "keep", CSE_SETTING_INTEGER, "null", 1, MAX_STEPS, NULL,
      "so many of the run's newest checkpoints stay, older ones are removed; null: all stay",
      NULL },
    { "replay_budget", CSE_SETTING_NUMBER, "null", 0, 1e9, NULL,
      "seconds: of checkpoints that are older than the newest (keep; null: one) those stay from "
      "which any step of the past is done again in that time, and fewer, the older they are; null "
      "or 0: none of them",
      NULL },
    { "keep_best", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL,
      "with keep or replay_budget: the best checkpoint stays as well", keep_best_table },
    { "autoload_last_checkpoint", CSE_SETTING_BOOL, "true", 0, 0, NULL,
      "resume from the newest checkpoint of model_dir", NULL },
    { "save_initial_checkpoint", CSE_SETTING_BOOL, "false", 0, 0, NULL,
      "also write a checkpoint before the first step", NULL },
    { "disable_strict_checkpoint_loading", CSE_SETTING_BOOL, "null", 0, 0, NULL,
      "no effect: a checkpoint holds all states of the model; fit.weights takes those that are "
      "there, and LoadCheckpointStates a part",
      NULL },
    { "new_data", CSE_SETTING_BOOL, "false", 0, 0, NULL,
      "resume although the training data are others than those of the checkpoint", NULL },
    { "begins_with", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "STEP DIGEST: training that goes on after STEP steps fails unless DIGEST is that of its "
      "states, "
      "which the run store has of each step",
      NULL },
    { "begin_anew", CSE_SETTING_BOOL, "false", 0, 0, NULL,
      "begin at step 0 although checkpoints of model_dir are there and none of them is whole",
      NULL },
    { 0 },
};

static const cse_setting logging_table[] = {
    { "log_steps", CSE_SETTING_INTEGER, "1", 1, MAX_STEPS, NULL, "steps between lines of progress",
      NULL },
    { "log_level", CSE_SETTING_CHOICE, "INFO", 0, 0, CSE_CHOICES(CSE_LOG_LEVELS),
      "least level of log lines", NULL },
    { 0 },
};

static const cse_setting samples_table[] = {
    { "count", CSE_SETTING_INTEGER, "8", 0, 32, NULL,
      "samples of the data, and pictures with predictions at each validation; 0: nothing is shown",
      NULL },
    { "worst", CSE_SETTING_INTEGER, "8", 0, 32, NULL,
      "samples of a validation with the greatest losses, and of classifiers calibration and "
      "precision over recall; 0: neither is kept",
      NULL },
    { "prompts", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "a language model goes on with each of them at each validation", NULL },
    { "max_new_tokens", CSE_SETTING_INTEGER, "32", 1, 4096, NULL, "of each such text", NULL },
    { 0 },
};

static const cse_setting init_table[] = {
    { "backend", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "what the run runs on",
      cse_backend_setting_table },
    { "model_dir", CSE_SETTING_PATH, "./model_dir", 0, 0, NULL,
      "directory of the run: checkpoints, logs, compiled steps", NULL },
    { "model", CSE_SETTING_ANY, NULL, 0, 0, NULL,
      "name, library (a shared object, when it is not built in), and the model's own settings",
      NULL },
    { "adapters", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "{NAME: {peft_type: LORA, r: 8, ...}}: factors beside the linear layers, which alone are "
      "trained",
      NULL },
    { "weights_in_memory", CSE_SETTING_CHOICE, "auto", 0, 0, "auto|packed|unpacked",
      "weights that lie packed in their file: auto: those that are not trained stay so; packed: "
      "the same, and refused where one does not; unpacked: all become float32",
      NULL },
    { "objective", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "{NAME: {its own settings}}: what the model is trained for in place of its own loss, see "
      "`csengine list objectives`",
      NULL },
    { "freeze", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "regular expressions: parameters with one of them in their names are not trained", NULL },
    { "trainable", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "likewise: those alone are trained, less those of freeze; none: all", NULL },
    { "optimizer", CSE_SETTING_ANY, "null", 0, 0, NULL, "{NAME: {its own settings}}", NULL },
    { "schedulers", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "[{NAME: {its own settings}}], a number, or {scheduler: NAME, its own settings}; with WD or "
      "Momentum for LR in the name of weight decay or momentum",
      NULL },
    { "sparsity", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "a number, or {algorithm: static|gmp|set|rigl, sparsity: ...}, or a list of these: weights "
      "that are zero",
      NULL },
    { "precision", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "number formats of the step",
      cse_precision_setting_table },
    { "numerics", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL,
      "tensor statistics: overflows, underflows, digests", cse_numerics_setting_table },
    { "step_digests", CSE_SETTING_BOOL, "true", 0, 0, NULL,
      "each step has digests of its states and samples, by which `inspect`, `bisect` and `fork` "
      "know its bits",
      NULL },
    { "recompute", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL,
      "activations that are computed again instead of kept", cse_recompute_setting_table },
    { "memory_limit", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "most memory of all processes of the run, as in 2GiB: as few activations as needed are "
      "computed again instead of kept, unless `recompute` says which; a run that does not fit is "
      "refused with what would; null: no limit",
      NULL },
    { "states", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL,
      "where weights and optimizer states are kept: in memory, or in a file larger than it",
      cse_states_setting_table },
    { "ema", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "averages of the weights",
      cse_average_setting_table },
    { "loss", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "of classes: smoothing and weights",
      cse_loss_setting_table },
    { "loop", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "how long to train", loop_table },
    { "checkpoint", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "what is saved and loaded",
      checkpoint_table },
    { "logging", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "what is printed", logging_table },
    { "samples", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL,
      "what the pages show of the data and of what the model makes of them", samples_table },
    { "metrics", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "[{NAME: {its own settings}}]: what validations measure besides loss and accuracy, see "
      "`csengine list metrics`",
      NULL },
    { "callbacks", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "[{NAME: {its own settings}}]: what is done at the events of a run, see `csengine list "
      "callbacks`",
      NULL },
    { "alerts", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL,
      "conditions on the run's curves, and who is told when one holds", cse_alert_setting_table },
    { "loggers", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "[{NAME: {its own settings}}]: where scalars go besides the run's own store", NULL },
    { "seed", CSE_SETTING_INTEGER, "1", 0, MAX_SEED, NULL,
      "seed of initial weights, dropout and, where it has none of its own, shuffling", NULL },
    { "deterministic", CSE_SETTING_CHOICE, "machine", 0, 0, "machine|portable",
      "where a run gives the same bits: on machines with the same instruction sets (machine), or "
      "on "
      "all x86-64 ones with AVX2, slower (portable)",
      NULL },
    { 0 },
};

static const cse_setting fit_table[] = {
    { "train_dataloader", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "data_processor (an input function), batch_size, micro_batch_size, ...", NULL },
    { "val_dataloader", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "the same for validation, which follows training; or a list of them", NULL },
    { "ckpt_path", CSE_SETTING_PATH, "null", 0, 0, NULL,
      "checkpoint to start from; absent or newest: the newest of model_dir, null: none", NULL },
    { "weights", CSE_SETTING_PATH, "null", 0, 0, NULL,
      "weights to start from at step 0, where model_dir has no checkpoint: a file of any format or "
      "a folder of Hugging Face; by name and shape, with a fresh optimizer",
      NULL },
    { "adapter", CSE_SETTING_PATHS, "null", 0, 0, NULL,
      "folder of PEFT, or several, whose adapter is added to the weights that are loaded", NULL },
    { "adapter_weights", CSE_SETTING_NUMBER_LIST, "[]", -1e6, 1e6, NULL,
      "what each adapter is multiplied by; none: 1", NULL },
    { "combination_type", CSE_SETTING_CHOICE, "cat", 0, 0, "cat|linear",
      "how several adapters are added: the sum of their products (cat), or the product of the sums "
      "of their factors (linear), as PEFT's add_weighted_adapter",
      NULL },
    { "any_base", CSE_SETTING_BOOL, "false", 0, 0, NULL,
      "adapters are added to other weights than those that they were trained beside", NULL },
    { 0 },
};

static const cse_setting validate_table[] = {
    { "val_dataloader", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "data of `csengine validate`, one or a list; null: fit.val_dataloader", NULL },
    { "ckpt_path", CSE_SETTING_PATH, "null", 0, 0, NULL,
      "checkpoint to validate; null: as fit.ckpt_path says", NULL },
    { 0 },
};

static const cse_setting validate_all_table[] = {
    { "val_dataloaders", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "data of `csengine validate_all`, one or a list; null: fit.val_dataloader", NULL },
    { "ckpt_paths", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "checkpoints to validate, as patterns of a shell; []: all of model_dir", NULL },
    { 0 },
};

static const cse_setting trainer_table[] = {
    { "init", CSE_SETTING_SETTINGS, NULL, 0, 0, NULL, "the model and how it is trained",
      init_table },
    { "fit", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "the data", fit_table },
    { "validate", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "validation of one checkpoint",
      validate_table },
    { "validate_all", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "validation of several checkpoints",
      validate_all_table },
    { 0 },
};

const cse_setting cse_config_table[] = {
    { "trainer", CSE_SETTING_SETTINGS, NULL, 0, 0, NULL, "the run", trainer_table },
    { 0 },
};
