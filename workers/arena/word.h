/* The complete state of a unit of work in one 64-bit word: its progress and its owner.
 *
 * A process claims a word by one compare-and-swap from the value it read; only the claimer writes
 * the payload, and one store publishes it. There are no counters, locks or lists: at whatever
 * instant a process is killed, each word is either untouched, claimed by it (the coordinator then
 * frees it) or done.
 *
 *     sequence : 40 | state : 4 | owner slot : 12 | incarnation : 8
 *
 * The sequence number is step + 1 for the words of a step, position in the input stream + 1 for the
 * words of the input ring; 0 is "never used". A word can be claimed for n when its state is
 * terminal (DONE or SPLIT) and its sequence number below n. So "done for n - 1" is "free for n":
 * nothing is reset between steps, and since sequence numbers only grow, a stale compare-and-swap
 * fails. The incarnation is for readers of dumps only: the protocol does not need it, since a slot
 * is reused only after its recovery is complete.
 *
 * The step word says which step and stage the cluster is in:
 *
 *     step : 40 | stage : 4 | replicas that share the step : 12 | flags : 8
 */
#ifndef CSE_WORKERS_ARENA_WORD_H
#define CSE_WORKERS_ARENA_WORD_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Aligned to a cache line, as neighbouring words are claimed by different cores. */
typedef struct cse_word {
    _Alignas(64) _Atomic uint64_t value;
} cse_word;

typedef enum cse_word_state {
    CSE_WORD_DONE = 0,    /* payload complete for the sequence number */
    CSE_WORD_SPLIT = 1,   /* tree nodes only: the children are computed instead */
    CSE_WORD_CLAIMED = 2, /* only the owner accesses the payload */
    /* Tree nodes only: computed, but a gradient in it is to be computed again (audit.h). */
    CSE_WORD_UNCHECKED = 3,
    CSE_WORD_CHECKING = 4, /* the owner does so, and accesses what is known of the audit */
} cse_word_state;

enum { CSE_OWNER_NONE = 0xfff, CSE_OWNER_COORDINATOR = 0xffe };

static inline uint64_t cse_word_make(int64_t sequence, cse_word_state state, int owner,
                                     int incarnation)
{
    return (uint64_t)sequence << 24 | (uint64_t)state << 20 | (uint64_t)(owner & 0xfff) << 8 |
           (uint64_t)(incarnation & 0xff);
}

static inline uint64_t cse_word_terminal(int64_t sequence, cse_word_state state)
{
    return cse_word_make(sequence, state, CSE_OWNER_NONE, 0);
}

static inline int64_t cse_word_sequence(uint64_t word)
{
    return (int64_t)(word >> 24);
}

static inline cse_word_state cse_word_state_of(uint64_t word)
{
    return (cse_word_state)(word >> 20 & 0xf);
}

static inline int cse_word_owner(uint64_t word)
{
    return (int)(word >> 8 & 0xfff);
}

static inline bool cse_word_is(uint64_t word, cse_word_state state, int64_t sequence)
{
    return word >> 20 == ((uint64_t)sequence << 4 | (uint64_t)state);
}

static inline bool cse_word_takeable(uint64_t word, int64_t sequence)
{
    return cse_word_state_of(word) <= CSE_WORD_SPLIT && cse_word_sequence(word) < sequence;
}

/* The sequence number to which recovery resets a word whose claimer died: the one before, as words
 * are reused every `lap` numbers; 0 in the first lap. */
static inline int64_t cse_word_sequence_before(int64_t sequence, int64_t lap)
{
    return sequence > lap ? sequence - lap : 0;
}

static inline uint64_t cse_word_load(const cse_word *word)
{
    return atomic_load_explicit(&word->value, memory_order_acquire);
}

/* Claims the word if it can be claimed for `sequence`. */
static inline bool cse_word_claim(cse_word *word, int64_t sequence, int owner, int incarnation)
{
    assert(sequence > 0 && owner >= 0 && owner < CSE_OWNER_NONE);
    uint64_t seen = atomic_load_explicit(&word->value, memory_order_acquire);
    return cse_word_takeable(seen, sequence) &&
           atomic_compare_exchange_strong(
               &word->value, &seen, cse_word_make(sequence, CSE_WORD_CLAIMED, owner, incarnation));
}

/* Claims a node that is UNCHECKED for `sequence`, to check it. */
static inline bool cse_word_check(cse_word *word, int64_t sequence, int owner, int incarnation)
{
    uint64_t seen = cse_word_terminal(sequence, CSE_WORD_UNCHECKED);
    return atomic_compare_exchange_strong(
        &word->value, &seen, cse_word_make(sequence, CSE_WORD_CHECKING, owner, incarnation));
}

/* Ends a claim: the payload is complete. A full fence: stores before it become visible before it,
 * stores after it do not, since a killed process must leave a prefix of its stores. */
static inline void cse_word_publish(cse_word *word, int64_t sequence, cse_word_state state)
{
    assert(state != CSE_WORD_CLAIMED && state != CSE_WORD_CHECKING && sequence >= 0);
    const uint64_t before = atomic_exchange(&word->value, cse_word_terminal(sequence, state));
    assert(cse_word_state_of(before) == CSE_WORD_CLAIMED || /* only a claimer may publish */
           cse_word_state_of(before) == CSE_WORD_CHECKING);
    (void)before;
}

/* Stages of a step, in their order. */
typedef enum cse_stage {
    CSE_STAGE_COMPUTE, /* nodes of the tree over the microbatches */
    CSE_STAGE_REDUCE,  /* chunks of the reduced values */
    CSE_STAGE_NORM,    /* the serial program of the step, and the step's record */
    CSE_STAGE_UPDATE,  /* chunks of the states */
} cse_stage;

/* Flag of the step word: one partial sum over all microbatches holds the reduced values of this
 * step; REDUCE was skipped. */
enum { CSE_STEP_SINGLE_PARTIAL_SUM = 1 };

static inline uint64_t cse_step_make(int64_t step, cse_stage stage, int replicas, int flags)
{
    assert(step >= 0 && replicas >= 1 && replicas <= 0xfff);
    return (uint64_t)step << 24 | (uint64_t)stage << 20 | (uint64_t)replicas << 8 | (uint64_t)flags;
}

static inline int64_t cse_step_number(uint64_t word)
{
    return (int64_t)(word >> 24);
}

static inline cse_stage cse_step_stage(uint64_t word)
{
    return (cse_stage)(word >> 20 & 0xf);
}

static inline int cse_step_replicas(uint64_t word)
{
    return (int)(word >> 8 & 0xfff);
}

static inline int cse_step_flags(uint64_t word)
{
    return (int)(word & 0xff);
}

/* Progress inside a claimed chunk of states: the line that is being updated, or is the next.
 *
 *     sequence : 40 | dirty : 8 | line, relative to the chunk : 16
 *
 * Dirty: the line's old values are in the owner's undo log, and the states may hold a mixture of
 * old and new values. */
static inline uint64_t cse_progress_make(int64_t sequence, bool dirty, int64_t line)
{
    assert(sequence > 0 && line >= 0 && line <= 0xffff);
    return (uint64_t)sequence << 24 | (uint64_t)dirty << 16 | (uint64_t)line;
}

static inline bool cse_progress_dirty(uint64_t progress)
{
    return (progress >> 16 & 0xff) != 0;
}

static inline int64_t cse_progress_line(uint64_t progress)
{
    return (int64_t)(progress & 0xffff);
}

/* Memory holds the effect of a prefix of a killed thread's instructions, so for recovery only the
 * compiler must be kept from reordering. */
#define CSE_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

#endif
