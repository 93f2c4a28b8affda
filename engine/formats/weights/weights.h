/* Named weights of any origin: a file of one of the formats, a folder with several, or such weights
 * under other names. What is in it is read when it is opened, elements when they are asked for.
 *
 * The names of a model's parameters are without "model." here, as in other programs. */
#ifndef CSE_WEIGHTS_WEIGHTS_H
#define CSE_WEIGHTS_WEIGHTS_H

#include <jansson.h>

#include "engine/base/arena.h"
#include "engine/base/name_index.h"
#include "engine/formats/weights/element.h"

enum { CSE_WEIGHT_NAME_BYTES = 1024 }; /* of a weight's name, at most */

/* A part of a file whose CRC-32 is known: it is compared before its first elements are read. */
typedef struct cse_weights_span {
    uint64_t offset, bytes;
    uint32_t checksum;
    bool is_good; /* it was compared */
} cse_weights_span;

typedef struct cse_weight {
    const char *name;
    cse_element element;
    cse_shape shape;
    int file;               /* of the weights' files; -1: read by other means */
    uint64_t offset;        /* of the elements there, in one block: row-major, little endian */
    cse_weights_span *span; /* which holds them; NULL: the file has no checksum of them */
    /* The type of the blocks of its rows (base/types/packed/packed.h), which are read as `element`,
     * float32, or as they are (cse_weights_read_rows); NULL: there are none. */
    const struct cse_packed_type *packed;
    /* Of one that lies packed in its file, but has no such blocks: why, in a few words; or NULL. */
    const char *why_unpacked;
} cse_weight;

typedef struct cse_weights_file {
    const char *path; /* for messages */
    int descriptor;
    uint64_t bytes;
} cse_weights_file;

typedef struct cse_weights cse_weights;
struct cse_weights {
    cse_arena *arena;
    const char *path;   /* as it was given, for messages */
    const char *format; /* the name of its format */
    cse_weight *list;
    int count, capacity;
    cse_weights_file *files;
    int file_count, file_capacity;
    cse_name_index names;
    /* Of a file of ours: the model, and the configuration of its run; or NULL. */
    const char *model_name, *config;
    /* What another program says of the model, and the kind of map (map.h) for it; or NULL. */
    json_t *facts;
    const char *facts_kind;
    /* The tokenizer in the file, as GGUF's facts "tokenizer..." with their lists; or NULL. */
    json_t *tokenizer;
    json_t *generation; /* a folder's generation_config.json; or NULL */
    /* What another program said of the model besides what is computed, as JSON in the words of
     * transformers: {model_type, config: {bos_token_id: ...}, generation_config}. It is kept for
     * the way back. Or NULL. */
    const char *origin;
    /* Reads bytes of one weight's elements; NULL: from its file. */
    cse_status (*read)(cse_weights *weights, int index, uint64_t first, size_t bytes, void *to);
    /* Reads blocks of a packed weight that is read by `read`; NULL: it has none. */
    cse_status (*read_rows)(cse_weights *weights, int index, int64_t first, int64_t count,
                            void *to);
    void (*close)(cse_weights *weights); /* may be NULL */
    void *self;
};

/* Adapters of PEFT that are added to weights (peft/merged.h). */
typedef struct cse_weights_adapters {
    const char *const *paths; /* folders */
    const double *weights;    /* of each; NULL: 1 */
    int count;
    bool is_linear; /* of several: how they are added; else cat */
    bool any_base;  /* the weights may be others than those that the adapters were trained beside */
} cse_weights_adapters;

typedef struct cse_weights_options {
    const char *format; /* the format's name; NULL: as the first bytes say */
    bool all;           /* of a checkpoint of ours: all its tensors, by their full names */
    const char *map;    /* of another program's names: a file, one of ours, "none"; NULL: chosen */
    const char *model;  /* of ours, which begins with the weights: its map is chosen; NULL: none */
    const cse_weights_adapters *adapters; /* added to the weights of a model; NULL: none */
    bool packs_halves; /* matrices that lie in a file in 16 bits are packed (packed/halves.c) */
} cse_weights_options;

/* Closes them and what they are made of. */
void cse_weights_close(cse_weights **weights);

/* The position of a name; -1: there is none. */
int cse_weights_find(const cse_weights *weights, const char *name);
/* Of its elements, as they are read. */
uint64_t cse_weight_bytes(const cse_weight *weight);

/* Bytes [first, first + bytes) of a weight's elements. CSE_IO, CSE_DATA. */
cse_status cse_weights_read(cse_weights *weights, int index, uint64_t first, size_t bytes,
                            void *to);

/* The same of one whose elements lie in a file, past `read`. For formats. CSE_IO. */
cse_status cse_weights_read_file(const cse_weights *weights, int index, uint64_t first,
                                 size_t bytes, void *to);

/* The blocks of rows [first, first + count) of a packed weight, one row behind the other. CSE_IO,
 * CSE_DATA. */
cse_status cse_weights_read_rows(cse_weights *weights, int index, int64_t first, int64_t count,
                                 void *to);
/* Bytes of a row of blocks. */
uint64_t cse_weight_row_bytes(const cse_weight *weight);

/* Reads all elements of a weight as those of another type. CSE_SHAPE when there is no such
 * conversion. */
cse_status cse_weights_read_as(cse_weights *weights, int index, cse_element element, void *to);

/* The same weights with floats as `element`, as they are read; the result owns `*from`. `which`
 * [count] of them; NULL: all. */
cse_weights *cse_weights_convert(cse_weights **from, cse_element element, const bool *which);

/* ---- for formats and views ---- */

cse_weights *cse_weights_new(const char *path);
/* Opens a regular file for reading and adds it; `*file` is its position. */
cse_status cse_weights_add_file(cse_weights *weights, const char *path, int *file);
/* Adds a weight after checking it: a name of 1 to CSE_WEIGHT_NAME_BYTES bytes without control
 * characters that was not added before, at most CSE_MAX_RANK dimensions, elements that lie in the
 * file. CSE_DATA. */
cse_status cse_weights_add(cse_weights *weights, const cse_weight *weight);

#endif
