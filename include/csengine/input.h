/* The contract of an input function: where samples come from.
 *
 * An input function opens a data source, says how many samples it has and what one sample looks
 * like, and copies samples by index into a batch. It does not decide the order of samples: that is
 * a pure function of (seed, epoch, index), made by the engine, unless the source says that it
 * orders its samples itself (is_stream). It runs in input worker processes, several of them at
 * once, each with the whole source open: what a sample holds may depend on its index, its epoch and
 * the settings alone. */
#ifndef CSENGINE_INPUT_H
#define CSENGINE_INPUT_H

#include "csengine/plugin.h"
#include "csengine/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. */
enum { CSE_INPUT_ABI = 2 };

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
        /* May begin with folders; with * in it, there are ten such files, with 0 to 9 in its place.
         * NULL: no further file. */
        const char *name;
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

/* One element of a sample, as it was read in an epoch. */
typedef struct cse_element_place {
    int stream;
    int64_t sample, element;
    int64_t epoch; /* from 0 */
    bool whole;    /* where the sample is, not one element of it */
} cse_element_place;

/* What a model says of data that are not there. */
typedef struct cse_unseen_data {
    int64_t longest; /* tokens of a sample, at most; 0: it does not say */
} cse_unseen_data;

typedef struct cse_input_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings; /* its own, besides those that every data loader has */

    /* Opens the source: sets self, sample_count, streams, source. CSE_NO_INPUT for a missing file,
     * CSE_DATA for wrong content, naming the file and what was expected. On failure nothing stays
     * open. */
    cse_status (*open)(cse_input *input, const cse_settings *settings);

    /* Copies sample `indices[i]` (each < sample_count) of every stream s to
     * outputs[s] + i * (bytes of one sample), for i < count. Called by one thread. With is_stream
     * an index is a place in the stream of all epochs, which has no end. */
    cse_status (*read)(cse_input *input, const int64_t *indices, int64_t count,
                       void *const outputs[]);

    /* Writes where element `element` of stream `stream` of a sample comes from, for messages, or
     * where the sample is: "text.txt: offset 17". NULL: the sample's number is all that can be
     * said. */
    void (*locate)(const cse_input *input, const cse_element_place *place, char *text, size_t size);

    void (*close)(cse_input *input);

    const cse_input_sample *samples; /* with values of each stream */

    /* Sets the streams without a look at the data, as far as the settings and what is `known` of
     * the model say, for a validation on a machine that does not have the data. CSE_CONFIG where
     * they do not say enough. NULL: the data are needed. */
    cse_status (*describe)(cse_input *input, const cse_settings *settings,
                           const cse_unseen_data *known);
} cse_input_descriptor;

struct cse_input {
    const cse_input_descriptor *descriptor;
    void *self;
    int64_t sample_count;
    int stream_count;
    cse_stream streams[CSE_MAX_STREAMS];
    char source[CSE_SOURCE_BYTES]; /* the file it reads, for reports; "" where there is none */
    /* Set by the engine for each read: [count] the epochs of the samples, from 0, for what chance
     * decides about a sample anew each time. NULL: all are of epoch 0. */
    const int64_t *epochs;
    /* Set by open where the data name the classes that labels count: [class_count], alive until
     * close. NULL: they have numbers alone. */
    const char *const *class_names;
    int class_count;
    /* Set by the engine before open: the seed of the shuffling, 0 without shuffling. */
    uint64_t seed;
    /* Set by open: the source decides itself which sample stands at which place of the stream of
     * all epochs, as one that mixes sources does; shuffling is left to it, too. sample_count is
     * then the length of an epoch. */
    bool is_stream;
    /* Set by the engine before open where answers are not needed, as for predictions: where the
     * data have none, labels are -100 and targets NaN. */
    bool may_lack_answers;
    /* Set by open where the data name the features of a sample, in their order: [feature_count],
     * alive until close. NULL: they have no names. */
    const char *const *feature_names;
    int64_t feature_count;
    /* Set by open where it is known that all labels (stream labels) are below it; 0: it is not. */
    int64_t label_limit;
    /* Set by open where the label of a sample (stream labels, one class each) is known without
     * reading the rest: labels[i] of sample indices[i], as read would give it. NULL: it is not. */
    cse_status (*read_labels)(cse_input *input, const int64_t *indices, int64_t count,
                              int32_t *labels);
    /* Set by open where the data have weights by which samples are drawn with replacement:
     * [sample_count], each from 0 on, alive until close. NULL: they have none. */
    const double *sample_weights;
};

/* ---- reading files ----
 *
 * A file that is opened by these calls is part of the identity of the run's data: it must be the
 * same in each process and after each restart, or the run ends with a message. They also hold a
 * confined job to its folders. */

/* Opens a regular file to read; the caller closes the descriptor. CSE_NO_INPUT: it is missing or no
 * regular file; CSE_PERMISSION; CSE_IO. */
CSE_API cse_status cse_input_open_file(const char *path, int *descriptor);

/* Bytes of a data file, plain or compressed with gzip or zstd, read from front to back. They are
 * told apart by content; a file named .gz or .zst that has another one is refused. The caller says
 * how much it needs next, and memory grows with the content that is really there, so a corrupt
 * header cannot make it allocate more. */
typedef struct cse_byte_source cse_byte_source;

/* Whether a file of this name exists. */
CSE_API bool cse_byte_source_exists(const char *path);

/* As cse_input_open_file. */
CSE_API cse_status cse_byte_source_open(const char *path, cse_byte_source **source);
CSE_API void cse_byte_source_close(cse_byte_source **source);

/* Reads up to `size` bytes; fewer (`got`) only at the end of the content. A compressed stream
 * that is damaged or ends early fails with CSE_DATA, a failing device with CSE_IO. Its checksum
 * stands at its end: who knows how much there is asks for one byte more, so that it is compared. */
CSE_API cse_status cse_byte_source_read(cse_byte_source *source, void *bytes, size_t size,
                                        size_t *got);

/* As above, into memory that grows with the content that is really there; the caller releases
 * `*bytes` with free(), also when `*got` < size. NULL when nothing was read. */
CSE_API cse_status cse_byte_source_take(cse_byte_source *source, size_t size, unsigned char **bytes,
                                        size_t *got);

/* A row of CSE_PLUGINS. */
#define CSE_INPUT_PLUGIN(descriptor) \
    CSE_PLUGIN_ROW("input", CSE_INPUT_ABI, const cse_input_descriptor, descriptor)

#ifdef __cplusplus
}
#endif

#endif
