/* Data loaders: an input function (csengine/input.h) bound to a batching. The order of samples is a
 * pure function of (seed, epoch, index), see shuffle.h and position.h. */
#ifndef CSE_DATALOADER_INPUT_H
#define CSE_DATALOADER_INPUT_H

#include "csengine/input.h"
#include "engine/base/config/yaml.h"

/* Settings that every data loader has besides its input function's own. */
typedef struct cse_batching {
    int64_t batch_size;       /* samples of the global batch */
    int64_t micro_batch_size; /* samples of one microbatch; divides batch_size */
    bool shuffle;
    uint64_t shuffle_seed;
    bool drop_last;       /* the last, incomplete batch of an epoch is left out */
    int64_t skip_samples; /* of the stream of samples, before the first step */
    bool is_stream;       /* numbers of samples are places in that stream: cse_input */
    /* Samples are drawn with replacement by shuffle_seed, borrowed; NULL: each is taken once in an
     * epoch. */
    const struct cse_weighted *sampler;
    /* Samples that no batch has, borrowed; NULL: none is left out. */
    const struct cse_left_out *without;
    /* Where a loader reads the batches alone that have so many samples, fewer than batch_size; 0:
     * it reads whole ones. micro_batch_size divides it then. */
    int64_t smaller;
} cse_batching;

/* Samples of the batches that are read. */
static inline int64_t cse_batching_samples(const cse_batching *batching)
{
    return batching->smaller > 0 ? batching->smaller : batching->batch_size;
}
static inline int64_t cse_batching_microbatches(const cse_batching *batching)
{
    return cse_batching_samples(batching) / batching->micro_batch_size;
}

/* A step is compiled for one number of samples, so a loader reads one kind of batch at a time.
 * Smaller ones than the others are those that samples were left out of (`without`), and the last
 * one of an epoch, of the samples that do not fill a batch. */
typedef struct cse_batch_kind {
    bool dropped;    /* samples at the end of an epoch that do not fill a batch are left out */
    int64_t samples; /* of the batches that are read, where they are smaller; 0: whole ones are */
} cse_batch_kind;

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
void cse_dataloader_settings_encode(const cse_settings *settings, cse_batch_kind kind,
                                    cse_text *json);
cse_status cse_dataloader_settings_decode(const char *json, cse_settings **settings,
                                          cse_batch_kind *kind);

/* `settings`: checked ones, borrowed for the call. CSE_CONFIG with what is accepted for a
 * micro_batch_size that does not divide batch_size, a batch larger than the data with drop_last:
 * true, drop_last: false with samples skipped that end within a batch, numbers of `without` that
 * the data do not have. `micro_batch_size` null
 * means batch_size. `default_seed` is used where shuffle_seed is null. It reads whole batches, as
 * cse_dataloader_choose_kind says for training, or, where the data do not fill one, the last one.
 */
cse_status cse_dataloader_open(const cse_settings *settings, uint64_t default_seed,
                               cse_dataloader **loader);
/* The same where samples need no answer, as for predictions: `may_lack_answers` of the input. */
cse_status cse_dataloader_open_unanswered(const cse_settings *settings, uint64_t default_seed,
                                          cse_dataloader **loader);
/* The same without `sampling` and `mixing`: the samples as the data have them, in their order. */
cse_status cse_dataloader_open_plain(const cse_settings *settings, uint64_t default_seed,
                                     cse_dataloader **loader);
/* A data loader that knows what samples look like, and has none: for a validation where the data
 * are missing. Nothing can be read from it. CSE_USAGE where the input function needs its data. */
cse_status cse_dataloader_describe(const cse_settings *settings, uint64_t default_seed,
                                   const cse_unseen_data *known, cse_dataloader **loader);
/* Whether it stands for data that are not there, of which nobody knows how many they are. */
bool cse_dataloader_is_unseen(const cse_dataloader *loader);
/* A data loader whose samples another host has, as `known` says (copied): sample_count, streams,
 * source and class names. Nothing can be read from it. CSE_CONFIG as for cse_dataloader_open. */
cse_status cse_dataloader_of_other(const cse_settings *settings, uint64_t default_seed,
                                   const cse_input *known, cse_dataloader **loader);
void cse_dataloader_close(cse_dataloader **loader);

const cse_input *cse_dataloader_input_view(const cse_dataloader *loader);
/* The same, for callers that read samples from it directly rather than batches. */
cse_input *cse_dataloader_open_input(cse_dataloader *loader);
const cse_batching *cse_dataloader_batching_view(const cse_dataloader *loader);
/* Batches in one epoch, the last one included unless it is left out. */
int64_t cse_dataloader_steps_per_epoch(const cse_dataloader *loader);

/* Samples that an epoch has beyond its whole batches. */
int64_t cse_dataloader_last_samples(const cse_dataloader *loader);
/* Whether those are left out: as drop_last of `settings`, which the loader was opened with, says;
 * without it training leaves them out, and an evaluation leaves none, unless it skips samples up to
 * a place within a batch. CSE_CONFIG where nothing would be left. */
cse_status cse_dataloader_drops_last(const cse_dataloader *loader, const cse_settings *settings,
                                     bool training, bool *drops);
/* From now on batches of that kind are read. Microbatches of smaller ones have as many samples as
 * divide them, at most micro_batch_size. */
void cse_dataloader_choose_kind(cse_dataloader *loader, cse_batch_kind kind);
/* Batches have several sizes, whichever of them are read. */
bool cse_dataloader_is_uneven(const cse_dataloader *loader);
/* For measurements, whose steps are all of one size: from now on batches have so many samples, not
 * more than those that are read, and `without` has no effect. */
void cse_dataloader_measure(cse_dataloader *loader, int64_t samples, int64_t micro_batch_size);
/* Samples of the batch of step `step` (from 0 over all epochs); 0: all were left out. */
int64_t cse_dataloader_batch_samples(const cse_dataloader *loader, int64_t step);
/* The kind of that batch, where samples that do not fill one are left out as now. */
cse_batch_kind cse_dataloader_kind_of(const cse_dataloader *loader, int64_t step);
/* A step after `step`, `last` at most, up to which all batches are of its kind: the first one of
 * another kind, or an earlier one where that would take long to find. */
int64_t cse_dataloader_kind_end(const cse_dataloader *loader, int64_t step, int64_t last);

/* Bytes of one microbatch: the streams one after another, each start aligned to 64 bytes. */
int64_t cse_dataloader_microbatch_bytes(const cse_dataloader *loader);
/* Offset of a stream in them. */
int64_t cse_dataloader_stream_offset(const cse_dataloader *loader, int stream);

/* Fills `bytes` (microbatch_bytes, aligned to 64) with microbatch `m` of step `step` (counted
 * from 0 over all epochs): a pure function of (settings, seed, step, m). Any place
 * costs the same. */
cse_status cse_dataloader_read(cse_dataloader *loader, int64_t step, int64_t m, void *bytes);

/* Copies samples `first` to `first` + `count` - 1 of the data, in their order, to outputs[stream],
 * one after another. The caller checks that there are as many. */
cse_status cse_dataloader_read_samples(cse_dataloader *loader, int64_t first, int64_t count,
                                       void *const outputs[]);

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
