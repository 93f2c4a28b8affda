/* Saving weights in any format that is written. */
#ifndef CSE_WEIGHTS_SAVE_H
#define CSE_WEIGHTS_SAVE_H

#include "engine/formats/weights/forward_pass.h"
#include "engine/formats/weights/weights.h"

typedef struct cse_weights_save_options {
    const char *format;  /* "hf": a folder of Hugging Face; NULL: by the name, a folder if it has no
                            extension */
    const char *map;     /* as above */
    const char *config;  /* a configuration with the model, as text; NULL: as the weights say */
    cse_element element; /* of floats; CSE_ELEMENT_COUNT: as they are */
    const struct cse_packed_type *packed; /* of matrices, for formats that pack; NULL: as above */
    cse_text *notice;    /* gets lines about what was done otherwise; may be NULL */
    uint64_t file_bytes; /* of one file of a folder, or of ONNX, whose weights are in a file beside
                            it where it would be larger; 0: as many as the format allows */
    bool all;
    const char *side_files;          /* for a folder: one whose side files are copied; for formats
                                        that hold a tokenizer: one that has it; NULL: none */
    const cse_forward_pass *forward; /* for formats that hold one; else NULL */
} cse_weights_save_options;

/* Whether what the path and the options name is a format that holds a forward pass, too. */
bool cse_weights_save_wants_forward(const char *path, const cse_weights_save_options *options);

/* Writes weights with our names, atomically; they are closed. CSE_USAGE, CSE_CANNOT_CREATE, ... */
cse_status cse_weights_save(cse_weights **from, const char *path,
                            const cse_weights_save_options *options);

#endif
