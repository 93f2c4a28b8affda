/* The contract of an input function: where samples come from.
 *
 * An input function opens a data source, says how many samples it has and what one sample looks
 * like, and copies samples by index into a batch. It does not decide the order of samples: that is
 * a pure function of (seed, epoch, index), see shuffle.h and position.h. Each input function is one
 * file in dataloader/inputs that ends with its descriptor. */
#ifndef CSE_DATALOADER_INPUT_H
#define CSE_DATALOADER_INPUT_H

#include "csengine/extend.h"
#include "csengine/tensor.h"
#include "engine/config/yaml.h"

enum { CSE_MAX_STREAMS = 8, CSE_SOURCE_BYTES = 256 };

/* One tensor that each sample provides. */
typedef struct cse_stream {
    const char *name; /* "images", "labels": what cse_input(step, name) asks for */
    cse_shape shape;  /* of one sample: [784], [] */
    cse_dtype dtype;  /* float32 or int32 */
} cse_stream;

typedef struct cse_input cse_input;

/* A case of the contract test of input functions: files, settings, and the values that must be
 * read. */
enum { CSE_INPUT_SAMPLE_FILES = 2, CSE_INPUT_SAMPLE_VALUES = 12 };
typedef struct cse_input_sample {
    /* The input function's own settings without braces; $folder is where the files are. NULL ends
     * the list. */
    const char *settings;
    /* Not NULL: opening fails with a message that contains this. No values then. */
    const char *refusal;
    const char *source; /* how the values were computed, independently of this code */
    struct {
        const char *name; /* NULL: no further file */
        const char *text;
        size_t size; /* 0: to the end of the text */
        bool gzip;
    } files[CSE_INPUT_SAMPLE_FILES];
    int64_t sample_count; /* at least 10 */
    int value_count;
    struct {
        int stream;
        int64_t sample, element;
        double value; /* rounded to the stream's type, equals the value read */
    } values[CSE_INPUT_SAMPLE_VALUES];
} cse_input_sample;

/* One element of a sample. */
typedef struct cse_element_place {
    int stream;
    int64_t sample, element;
} cse_element_place;

typedef struct cse_input_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings; /* its own, besides the common ones of cse_batching */

    /* Opens the source: sets self, sample_count, streams, source. CSE_NO_INPUT for a missing file,
     * CSE_DATA for wrong content, naming the file and what was expected. On failure nothing stays
     * open. */
    cse_status (*open)(cse_input *input, const cse_settings *settings);

    /* Copies sample `indices[i]` (each < sample_count) of every stream s to
     * outputs[s] + i * (bytes of one sample), for i < count. Called by one thread. */
    cse_status (*read)(cse_input *input, const int64_t *indices, int64_t count,
                       void *const outputs[]);

    /* Writes where element `element` of stream `stream` of a sample comes from, for messages:
     * "text.txt: offset 17". NULL: the sample's number is all that can be said. */
    void (*locate)(const cse_input *input, const cse_element_place *place, char *text, size_t size);

    void (*close)(cse_input *input);

    const cse_input_sample *samples; /* with values of each stream */
} cse_input_descriptor;

struct cse_input {
    const cse_input_descriptor *descriptor;
    void *self;
    int64_t sample_count;
    int stream_count;
    cse_stream streams[CSE_MAX_STREAMS];
    char source[CSE_SOURCE_BYTES]; /* the file it reads, for reports; "" where there is none */
};

/* Settings that every data loader has besides its input function's own. */
typedef struct cse_batching {
    int64_t batch_size;       /* samples of the global batch */
    int64_t micro_batch_size; /* samples of one microbatch; divides batch_size */
    bool shuffle;
    uint64_t shuffle_seed;
    bool drop_last; /* the last, incomplete batch of an epoch is left out */
} cse_batching;

/* An input function bound to a batching: random access to microbatches. */
typedef struct cse_dataloader cse_dataloader;

/* Settings of a data loader from the tree of its section ("{data_processor: idx_images, data_dir:
 * ..., batch_size: 256}"), checked without the data, and allocated in `arena`, which holds `tree`;
 * CSE_CONFIG with the place and what is accepted. */
cse_status cse_dataloader_settings_read(cse_arena *arena, cse_yaml_node *tree,
                                        cse_settings **settings);
/* Encodes settings for another process. Decoding checks them as if a user had written them:
 * CSE_DATA for anything else than encoded settings. The caller releases them with
 * cse_settings_destroy. */
void cse_dataloader_settings_encode(const cse_settings *settings, cse_text *json);
cse_status cse_dataloader_settings_decode(const char *json, cse_settings **settings);

/* `settings`: checked ones, borrowed for the call. CSE_CONFIG with what is accepted for a
 * micro_batch_size that does not divide batch_size, a batch larger than the data, drop_last: false
 * with an incomplete last batch. `micro_batch_size` null means batch_size. `default_seed` is used
 * where shuffle_seed is null. */
cse_status cse_dataloader_open(const cse_settings *settings, uint64_t default_seed,
                               cse_dataloader **loader);
void cse_dataloader_close(cse_dataloader **loader);

const cse_input *cse_dataloader_input_view(const cse_dataloader *loader);
const cse_batching *cse_dataloader_batching_view(const cse_dataloader *loader);
/* Whole batches in one epoch. */
int64_t cse_dataloader_steps_per_epoch(const cse_dataloader *loader);

/* Bytes of one microbatch: the streams one after another, each start aligned to 64 bytes. */
int64_t cse_dataloader_microbatch_bytes(const cse_dataloader *loader);
/* Offset of a stream in them. */
int64_t cse_dataloader_stream_offset(const cse_dataloader *loader, int stream);

/* Fills `bytes` (microbatch_bytes, aligned to 64) with microbatch `m` of step `step` (counted
 * from 0 over all epochs): a pure function of (settings, seed, step, m). Any place
 * costs the same. */
cse_status cse_dataloader_read(cse_dataloader *loader, int64_t step, int64_t m, void *bytes);

/* Where element `index` of stream `stream` of the microbatch that was read last comes from: "sample
 * 3" and what the input function knows ("text.txt: offset 17 (sample 3)"). */
void cse_dataloader_locate(const cse_dataloader *loader, int stream, int64_t index, char *text,
                           size_t size);

/* Limits on the number of steps: num_epochs and num_steps exclude each other, steps_per_epoch is at
 * most the length of an epoch, and the number of steps is
 *
 *     min(num_epochs * steps_per_epoch, num_steps, max_steps - initial_step).
 *
 * 0 means "not given". */
typedef struct cse_loop_settings {
    int64_t num_steps, max_steps, num_epochs, steps_per_epoch;
} cse_loop_settings;
cse_status cse_compute_num_steps(const cse_loop_settings *loop, int64_t batches_per_epoch,
                                 int64_t initial_step, int64_t *steps);

/* The input functions in name order, ended by NULL; written by autogen.sh. */
extern const cse_input_descriptor *const cse_inputs[];

#endif
