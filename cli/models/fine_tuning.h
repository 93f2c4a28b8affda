/* What `csengine fine-tune` runs: the configuration that trains a model of another program, or an
 * adapter beside it, on conversations. */
#ifndef CSE_CLI_MODELS_FINE_TUNING_H
#define CSE_CLI_MODELS_FINE_TUNING_H

#include "cli/runs/job.h"
#include "engine/base/text.h"

/* How to train. cse_fine_tuning_read fills it from the command line. */
typedef struct cse_fine_tuning {
    const char *model;        /* a folder of Hugging Face or a GGUF file */
    const char *const *paths; /* of the conversations */
    int path_count;
    const char *validation; /* other conversations; NULL: none */
    const char *method;     /* lora, dora or full */
    const char *loss_on;    /* of the input function `conversations`; NULL: its default */
    int64_t rank, batch_size, sequence_length;
    int64_t num_epochs;   /* 0: by the number of steps */
    double learning_rate; /* 0: by the model's width */
    const char *output;   /* the file that gets the configuration; NULL: it is trained */
} cse_fine_tuning;

cse_status cse_fine_tuning_read(const cse_command_line *line, cse_fine_tuning *tuning);

/* Appends the configuration, after counting the steps that the data are: a warm-up and half a
 * cosine over them need their number. CSE_DATA, CSE_CONFIG, CSE_NO_INPUT with the reason. */
cse_status cse_fine_tuning_write(const cse_command_line *line, const cse_fine_tuning *tuning,
                                 cse_text *configuration);

#endif
