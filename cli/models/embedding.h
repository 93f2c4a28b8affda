/* What `csengine embed` runs: the configuration of a model that makes vectors of texts, from a file
 * or from a folder of Hugging Face, and a data loader of the texts that are named. */
#ifndef CSE_CLI_MODELS_EMBEDDING_H
#define CSE_CLI_MODELS_EMBEDDING_H

#include "cli/runs/job.h"

typedef struct cse_embedding_texts {
    const char *const *paths;
    int path_count;
    const char *column;     /* NULL: text */
    const char *vocabulary; /* NULL: that of the folder, or of the configuration's data loader */
    int64_t length;         /* tokens; 0: as these say */
} cse_embedding_texts;

/* cse_job_prepare of the first argument, CONFIG.yaml or a folder, which completes `texts`. Release
 * with cse_job_clear, also after a failure. */
cse_status cse_embedding_prepare(const cse_command_line *line, cse_embedding_texts *texts,
                                 cse_prepared_job *job);
/* CSE_CONFIG where the model makes no vectors of texts. */
cse_status cse_embedding_check(const cse_job_settings *settings);
/* Checked settings of the data loader of the texts, in the memory of the job's. */
cse_status cse_embedding_loader(const cse_embedding_texts *texts, const cse_job_settings *settings,
                                const cse_settings **loader);

#endif
