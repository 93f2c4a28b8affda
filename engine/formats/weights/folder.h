/* Folders that hold weights in one file or several, as Hugging Face lays them out:
 * model.safetensors, or model.safetensors.index.json and the files that it names; or the same of
 * pytorch_model.bin. */
#ifndef CSE_WEIGHTS_FOLDER_H
#define CSE_WEIGHTS_FOLDER_H

#include <jansson.h>

#include "engine/formats/weights/weights.h"

bool cse_weights_is_folder(const char *path);
cse_status cse_weights_open_folder(cse_weights *weights, const cse_weights_options *options);

typedef struct cse_weights_folder_options {
    const char *stem;           /* of the files of weights; NULL: model */
    const char *adapter_config; /* the text of adapter_config.json; NULL: none is written */
    const char *adapter_base;   /* that of csengine_base.json (peft/base.h); NULL: none */
    uint64_t file_bytes;        /* elements of one file; 0: all in one */
    const char *config;         /* the text of config.json; NULL: none is written */
    const char *generation;     /* that of generation_config.json; NULL: none is written */
    const char *side_files; /* a folder whose tokenizer and other files (side_files.h) are copied;
                               NULL: none */
    const char *tokenizer;  /* the text of tokenizer.json; NULL: none is written */
    const char *tokenizer_config; /* that of tokenizer_config.json; NULL: none is written */
    const json_t *sentences;      /* what cse_sentence_folder_take gave; NULL: none */
    int64_t vector_channels;      /* of it: hidden_size */
} cse_weights_folder_options;

/* Writes weights to a new folder, as safetensors. All of it appears at once. */
cse_status cse_weights_save_folder(cse_weights *from, const char *path,
                                   const cse_weights_folder_options *options);

#endif
