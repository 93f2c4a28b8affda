/* Control messages between the hosts of a run, as one table; their bytes are those of
 * message_codec.h, with the mark "CSEH".
 *
 * One host leads: it decides who takes part, which host computes what, and when the run ends. It
 * sends the job to the others, its followers, and they tell it how far they are. Sums of gradients
 * never travel this way; they go between the movers. A message may be repeated, and is never
 * needed twice: what a new connection lacks is sent again. `epoch` counts the leader's decisions
 * about who takes part; a message of an earlier one than the receiver knows changes nothing. */
#ifndef CSE_WORKERS_GROUP_HOST_MESSAGE_H
#define CSE_WORKERS_GROUP_HOST_MESSAGE_H

#include "workers/hosts/host_set.h"
#include "workers/messages/message_codec.h"

enum {
    CSE_HOST_MESSAGE_VERSION = 4,
    CSE_HOST_MESSAGE_MAX_BYTES = CSE_HOST_LINK_MAX_BYTES,
    CSE_HOST_MESSAGE_CHUNK_BYTES = 1 << 20, /* of FILE */
};

/* MESSAGE(number on the wire, name of the kind, name of the union member, FIELD(type, name)...) */
#define CSE_HOST_MESSAGE_TABLE(MESSAGE, FIELD)                                                     \
    /* follower, on each connection: who it is; `process` differs for each start of its program */ \
    MESSAGE(1, HELLO, hello,                                                                       \
            FIELD(INTEGER, process) FIELD(TEXT, build) FIELD(TEXT, instruction_set)                \
                FIELD(TEXT, kernels) FIELD(TEXT, deterministic) FIELD(TEXT, mover))                \
    /* leader: does not take part (any more), and ends */                                          \
    MESSAGE(2, REFUSED, refused, FIELD(INTEGER, epoch) FIELD(INTEGER, status) FIELD(TEXT, reason)) \
    /* leader: what is trained. `hosts`, `movers`: of each host, a line each. A checkpoint of */   \
    /* `file_bytes` follows (0: the states are those of the seed) whose meaning `loading` says, */ \
    /* as a cse_job_loading. Validations are those that were done before, a line each. */          \
    MESSAGE(3, JOB, job,                                                                           \
            FIELD(INTEGER, epoch) FIELD(INTEGER, generation) FIELD(TEXT, configuration)            \
                FIELD(TEXT, directory) FIELD(TEXT, model_dir) FIELD(TEXT, hosts)                   \
                    FIELD(TEXT, movers) FIELD(INTEGER, loading) FIELD(INTEGER, run_start)          \
                        FIELD(INTEGER, run_end) FIELD(INTEGER, owes_validation)                    \
                            FIELD(INTEGER, file_bytes) FIELD(TEXT, validations))                   \
    /* leader: the next part of that file */                                                       \
    MESSAGE(4, FILE, file, FIELD(INTEGER, offset) FIELD(BYTES, bytes))                             \
    /* follower: stands before the first step of that execution */                                 \
    MESSAGE(5, READY, ready, FIELD(INTEGER, execution))                                            \
    /* to all, often: lives, and has done so many steps of that execution. `digests`: of the */    \
    /* records of the execution `records_of` from `first_step` on, 8 bytes each, those not yet */  \
    /* told; `microbatches` to `exposed_ns`: a cse_host_work; of a leader: which steps others */   \
    /* may release, and in `others` how far each host is: execution, steps done, 8 bytes each */   \
    MESSAGE(6, TURN, turn,                                                                         \
            FIELD(INTEGER, execution) FIELD(INTEGER, steps_done) FIELD(INTEGER, limit)             \
                FIELD(INTEGER, records_of) FIELD(INTEGER, first_step) FIELD(INTEGER, microbatches) \
                    FIELD(INTEGER, compute_ns) FIELD(INTEGER, exposed_ns) FIELD(BYTES, digests)    \
                        FIELD(BYTES, others))                                                      \
    /* leader: who computes what from first_step of that execution on; `bounds` of host_cut.h, */  \
    /* 4 bytes each. `number` counts the cuts. `ends`: the execution ends there. */                \
    MESSAGE(7, CUT, cut,                                                                           \
            FIELD(INTEGER, epoch) FIELD(INTEGER, number) FIELD(INTEGER, execution)                 \
                FIELD(INTEGER, first_step) FIELD(INTEGER, ends) FIELD(BYTES, bounds))              \
    /* follower: the cut counts from its first step on */                                          \
    MESSAGE(8, CUT_KNOWN, cut_known, FIELD(INTEGER, number))                                       \
    /* leader: these hosts, a host_set.h, take no part any more */                                 \
    MESSAGE(9, LOST, lost, FIELD(INTEGER, epoch) FIELD(BYTES, hosts))                              \
    /* leader: the run has ended so; follower: it cannot go on, for that reason */                 \
    MESSAGE(10, LEAVE, leave,                                                                      \
            FIELD(INTEGER, epoch) FIELD(INTEGER, status) FIELD(TEXT, reason)                       \
                FIELD(TEXT, weights_digest))                                                       \
    /* follower: one line for the log, level as cse_log_level */                                   \
    MESSAGE(11, LOG, log, FIELD(INTEGER, level) FIELD(TEXT, line))                                 \
    /* follower, twice a second: what its processes do, as the JSON of a topology report */        \
    MESSAGE(12, REPORT, report, FIELD(TEXT, json))                                                 \
    /* a host without data: what is there to know of that data loader of the job? */               \
    MESSAGE(13, DATA_WANTED, data_wanted, FIELD(INTEGER, number))                                  \
    /* a host with data, when it has opened it: that (dataloader/data_description.h) */            \
    MESSAGE(14, DATA, data, FIELD(INTEGER, number) FIELD(TEXT, text))

#define CSE_HOST_MESSAGE_NO_FIELD(type, name)

typedef enum cse_host_message_kind {
#define CSE_HOST_MESSAGE_KIND(number, upper, lower, fields) CSE_HOST_##upper = number,
    CSE_HOST_MESSAGE_TABLE(CSE_HOST_MESSAGE_KIND, CSE_HOST_MESSAGE_NO_FIELD)
#undef CSE_HOST_MESSAGE_KIND
} cse_host_message_kind;

#define CSE_HOST_MESSAGE_TYPE_INTEGER int64_t
#define CSE_HOST_MESSAGE_TYPE_TEXT const char *
#define CSE_HOST_MESSAGE_TYPE_BYTES cse_message_bytes
#define CSE_HOST_MESSAGE_MEMBER(type, name) CSE_HOST_MESSAGE_TYPE_##type name;
#define CSE_HOST_MESSAGE_STRUCT(number, upper, lower, fields) \
    struct {                                                  \
        fields                                                \
    } lower;

/* TEXT and BYTES are borrowed: from the sender, or from the received bytes. NULL is sent as "". */
typedef struct cse_host_message {
    cse_host_message_kind kind;
    union {
        CSE_HOST_MESSAGE_TABLE(CSE_HOST_MESSAGE_STRUCT, CSE_HOST_MESSAGE_MEMBER)
    };
} cse_host_message;

/* "HELLO"; "unknown" for numbers not in the table. */
const char *cse_host_message_name(cse_host_message_kind kind);

/* As cse_message_write and cse_message_read_fields. What is decoded is well-formed, and within the
 * limits of its fields: numbers are not negative, sets and bounds name at most CSE_MAX_HOSTS. */
cse_status cse_host_message_encode(const cse_host_message *message, cse_text *out);
cse_status cse_host_message_decode(const void *bytes, size_t size, cse_host_message *message);

/* Numbers of 8 bytes, as in `digests` and `others`. */
void cse_host_numbers_add(uint64_t number, cse_text *bytes);
uint64_t cse_host_number_at(const cse_message_bytes *bytes, size_t index);

/* The bounds of a CUT as bytes (at most CSE_HOST_BOUNDS_BYTES), and back: CSE_DATA where they do
 * not begin with 0, fall, or are none of a cut of `host_count` hosts. */
enum { CSE_HOST_BOUNDS_BYTES = 4 * (CSE_MAX_HOSTS + 1) };
size_t cse_host_bounds_encode(const int32_t *bounds, int host_count,
                              unsigned char bytes[CSE_HOST_BOUNDS_BYTES]);
cse_status cse_host_bounds_decode(const cse_message_bytes *bytes, int host_count, int32_t *bounds);

#endif
