/* `csengine predict` of files of text: how likely a language model finds each, and which tokens
 * would follow. */
#ifndef CSE_CLI_MODELS_PREDICT_TEXTS_H
#define CSE_CLI_MODELS_PREDICT_TEXTS_H

#include "cli/arguments/command.h"
#include "run/infer/loaded_model.h"

typedef struct cse_predict_texts_options {
    const char *const *paths;
    int path_count;
    const char *tokenizer; /* NULL: that of model_dir, or bytes */
    const char *model_dir;
    int64_t top;                     /* tokens that are shown */
    const char *format;              /* "table", "json" or "csv" */
    const char *model_name;          /* of the configuration, as loader: for messages */
    const cse_config_plugin *loader; /* NULL: none */
} cse_predict_texts_options;

typedef struct cse_predict_texts_result {
    int64_t texts, bad_files;
    cse_status first_bad; /* where there are bad files */
} cse_predict_texts_result;

/* Prints a row, or a line of JSON, for each file; one that cannot be read is told, and the others
 * are predicted. CSE_USAGE where the model is no language model. */
cse_status cse_predict_texts(const cse_predict_texts_options *options,
                             const cse_loaded_model *loaded, cse_predict_texts_result *result);

#endif
