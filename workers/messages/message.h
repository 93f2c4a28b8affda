/* Control messages between coordinator, workers and operators, as one table.
 *
 * Messages are small and rare: they start, stop and report. Payload (weights, gradients, samples)
 * and progress never travel this way; they are in the shared arena. Their bytes are those of
 * message_codec.h, with the mark "CSEM". A program accepts its own version only: a cluster runs one
 * build of csengine. */
#ifndef CSE_WORKERS_MESSAGES_MESSAGE_H
#define CSE_WORKERS_MESSAGES_MESSAGE_H

#include "workers/messages/message_codec.h"
#include "workers/transports/transport.h"

enum {
    CSE_MESSAGE_VERSION = 6,
    CSE_MESSAGE_MAX_BYTES = CSE_TRANSPORT_MAX_BYTES, /* enough for a loader's settings */
};

/* MESSAGE(number on the wire, name of the kind, name of the union member, FIELD(type, name)...) */
#define CSE_MESSAGE_TABLE(MESSAGE, FIELD)                                                          \
    /* worker: is connected, requests WELCOME */                                                   \
    MESSAGE(1, JOIN, join,                                                                         \
            FIELD(INTEGER, slot) FIELD(INTEGER, incarnation) FIELD(INTEGER, process_id))           \
    /* coordinator: where the compiled step and its data are */                                    \
    MESSAGE(2, WELCOME, welcome,                                                                   \
            FIELD(TEXT, artefact_directory) FIELD(TEXT, dataloader) FIELD(INTEGER, seed)           \
                FIELD(TEXT, confinement) FIELD(TEXT, mover_place) FIELD(TEXT, values_prefix)       \
                    FIELD(TEXT, values_microbatches))                                              \
    /* worker: has opened everything; from here on the arena directs its work */                   \
    MESSAGE(3, READY, ready, FIELD(INTEGER, slot))                                                 \
    /* operator: keep the states unchanged after the step in flight, until RESUME */               \
    MESSAGE(4, PAUSE, pause, FIELD(TEXT, reason))                                                  \
    MESSAGE(5, RESUME, resume, FIELD(TEXT, reason))                                                \
    /* operator: take a snapshot after the step in flight and go on */                             \
    /* or write the last checkpoint, which waits for room, to a directory that is not "" */        \
    MESSAGE(6, CHECKPOINT, checkpoint, FIELD(TEXT, reason) FIELD(TEXT, directory))                 \
    /* operator to coordinator: snapshot and end; coordinator to worker: exit */                   \
    MESSAGE(7, STOP, stop, FIELD(TEXT, reason))                                                    \
    /* worker: one line for the log, level as cse_log_level */                                     \
    MESSAGE(8, LOG, log, FIELD(INTEGER, level) FIELD(INTEGER, time_ms) FIELD(TEXT, line))          \
    /* worker: cannot go on, status as cse_status */                                               \
    MESSAGE(9, FAILURE, failure, FIELD(INTEGER, status) FIELD(TEXT, text))                         \
    /* worker: exits without a failure */                                                          \
    MESSAGE(10, BYE, bye, FIELD(INTEGER, slot))                                                    \
    /* operator: end; save: with a checkpoint, but not after grace_ms (0: no limit) */             \
    MESSAGE(11, CANCEL, cancel, FIELD(INTEGER, save) FIELD(INTEGER, grace_ms) FIELD(TEXT, reason)) \
    /* operator: end at once, workers are killed */                                                \
    MESSAGE(12, KILL, kill, FIELD(TEXT, reason))                                                   \
    /* operator: change the number of replicas from the next step on; or, where it is not "", */   \
    /* the hosts: a list, "+NAME" or "-NAME" */                                                    \
    MESSAGE(13, SCALE, scale, FIELD(INTEGER, num_csx) FIELD(TEXT, hosts))                          \
    /* operator: requests the phase */                                                             \
    MESSAGE(14, STATUS, status, FIELD(TEXT, reason))                                               \
    /* coordinator to operator: status and reason of a cse_error, and a message */                 \
    MESSAGE(15, REPLY, reply,                                                                      \
            FIELD(INTEGER, status) FIELD(INTEGER, reason) FIELD(INTEGER, step) FIELD(TEXT, text))

#define CSE_MESSAGE_NO_FIELD(type, name)

typedef enum cse_message_kind {
#define CSE_MESSAGE_KIND(number, upper, lower, fields) CSE_MESSAGE_##upper = number,
    CSE_MESSAGE_TABLE(CSE_MESSAGE_KIND, CSE_MESSAGE_NO_FIELD)
#undef CSE_MESSAGE_KIND
} cse_message_kind;

#define CSE_MESSAGE_TYPE_INTEGER int64_t
#define CSE_MESSAGE_TYPE_TEXT const char *
#define CSE_MESSAGE_MEMBER(type, name) CSE_MESSAGE_TYPE_##type name;
#define CSE_MESSAGE_STRUCT(number, upper, lower, fields) \
    struct {                                             \
        fields                                           \
    } lower;

/* TEXT members are borrowed: from the sender, or from the received bytes. NULL is sent as "". */
typedef struct cse_message {
    cse_message_kind kind;
    union {
        CSE_MESSAGE_TABLE(CSE_MESSAGE_STRUCT, CSE_MESSAGE_MEMBER)
    };
} cse_message;

/* "JOIN"; "unknown" for numbers not in the table. */
const char *cse_message_kind_name(cse_message_kind kind);

/* Appends the message's bytes to `out`. CSE_INTERNAL for a kind not in the table or when the
 * message would exceed CSE_MESSAGE_MAX_BYTES; `out` is then as before. */
cse_status cse_message_encode(const cse_message *message, cse_text *out);

/* Reads `size` bytes that hold exactly one message; texts are views into `bytes`. CSE_UNAVAILABLE
 * for another protocol version, CSE_DATA for anything else that is not a message of the table. */
cse_status cse_message_decode(const void *bytes, size_t size, cse_message *message);

#endif
