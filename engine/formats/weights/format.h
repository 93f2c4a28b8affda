/* The contract of a format of weights: a file in engine/formats/weights/weight_formats that ends
 * with its descriptor, `cse_weight_format_<file name>`. */
#ifndef CSE_WEIGHTS_FORMAT_H
#define CSE_WEIGHTS_FORMAT_H

#include "engine/base/text.h"
#include "engine/formats/weights/forward_pass.h"
#include "engine/formats/weights/new_file.h"
#include "engine/formats/weights/weights.h"

enum { CSE_FORMAT_START_BYTES = 128 };

/* What is written, and where to. */
typedef struct cse_weights_target {
    int descriptor;                       /* of an empty file */
    const char *path;                     /* for messages */
    const char *model_name, *config;      /* as in cse_weights; may be NULL */
    const char *origin;                   /* as in cse_weights; may be NULL */
    const json_t *facts;                  /* of the model for another program; may be NULL */
    const json_t *tokenizer;              /* its tokenizer, as facts of GGUF; may be NULL */
    const struct cse_packed_type *packed; /* of matrices, in formats that pack; NULL: as they are */
    cse_text *notice;                /* gets lines about what was done otherwise; may be NULL */
    bool all;                        /* names are full ones */
    const cse_forward_pass *forward; /* may be NULL */
    uint64_t file_bytes;             /* of a file that may have another one beside it; 0: as many
                                        as the format allows */
    cse_new_file *beside;            /* opened by a format that needs a second file, which gets its
                                        name by the caller; NULL: there can be none */
} cse_weights_target;

typedef struct cse_weights_format {
    const char *name;
    const char *summary;
    const char *extensions; /* ".pt .pth": of names that are written in this format */
    /* Whether a file is of this format, by its first bytes, and others where those do not tell. */
    bool (*begins)(const cse_weights_file *file, const unsigned char *start, size_t bytes);
    /* Adds what is in the file of that position. */
    cse_status (*open)(cse_weights *weights, int file, const cse_weights_options *options);
    /* Writes all weights to an empty file, the same bytes for the same weights. NULL: the format is
     * only read. */
    cse_status (*write)(cse_weights *from, const cse_weights_target *to);
    bool holds_forward; /* `write` needs the model's forward pass */
    bool packs;         /* `write` packs, and holds a tokenizer */
} cse_weights_format;

extern const cse_weights_format *const cse_weights_formats[];

/* By its name; NULL: there is none. */
const cse_weights_format *cse_weights_format_find(const char *name);
/* "ckpt, gguf, ..." of those that can be written, or of all, to be shown; in the arena. */
const char *cse_weights_format_names(cse_arena *arena, bool written);

/* ---- for formats ---- */

/* Copies the elements of a weight to the file, in blocks; `checksum`: their CRC-32; may be NULL. */
cse_status cse_weights_put(cse_weights *from, int index, const cse_weights_target *to,
                           uint64_t offset, uint32_t *checksum);
cse_status cse_weights_put_bytes(const cse_weights_target *to, const void *data, size_t bytes,
                                 uint64_t offset);
/* The positions of all weights in the byte order of their names; free(). */
int *cse_weights_name_order(const cse_weights *weights);
/* Fails with CSE_SHAPE, naming a weight whose elements the format cannot hold. `accepted` ends with
 * CSE_ELEMENT_COUNT. */
cse_status cse_weights_accept(const cse_weights *from, const cse_weights_target *to,
                              const cse_element accepted[]);

#endif
