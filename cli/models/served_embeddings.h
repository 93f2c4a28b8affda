/* Answers to POST /v1/embeddings, by the model that `csengine embed` runs. */
#ifndef CSE_CLI_MODELS_SERVED_EMBEDDINGS_H
#define CSE_CLI_MODELS_SERVED_EMBEDDINGS_H

#include "cli/models/embedding.h"
#include "run/infer/completions.h"
#include "run/infer/loaded_model.h"

typedef struct cse_served_embeddings {
    cse_loaded_model loaded;
    const cse_job_settings *settings;
    cse_embedding_texts texts;
} cse_served_embeddings;

/* Whether a path is a folder of sentence-transformers. */
bool cse_is_embedding_folder(const char *path);

/* Answers by the sink, also where the request is at fault. */
void cse_served_embeddings_run(cse_served_embeddings *served, const cse_completion_call *call,
                               const cse_completion_sink *sink);

#endif
