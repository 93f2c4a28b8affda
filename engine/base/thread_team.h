/* A few threads that share the work of one call, for a process that computes one thing at a time,
 * such as the next token of a text.
 *
 * The caller is member 0 and works with the others; the call ends when all of them have. Between
 * two calls, which follow each other within microseconds in a pass, members spin for a while before
 * they sleep: to wake one takes longer than many products. Pieces of the work are handed out as
 * members come for them, so that one that another program holds up delays its own piece alone. What
 * a piece computes must not depend on which pieces there are, nor on who takes it. */
#ifndef CSE_BASE_THREAD_TEAM_H
#define CSE_BASE_THREAD_TEAM_H

#include <stddef.h>
#include <stdint.h>

typedef struct cse_thread_team cse_thread_team;

enum { CSE_THREAD_TEAM_MOST = 256 };

/* Items [0, count), of which a piece is whole units, but the last one. */
typedef struct cse_team_job {
    void (*work)(void *self, int member, int64_t first, int64_t end);
    void *self;
    int64_t count, unit;
} cse_team_job;

/* `threads` with the caller, 1 to CSE_THREAD_TEAM_MOST. Where the system starts no more, fewer,
 * which a warning tells. NULL with 1: calls then run on the caller alone. */
cse_thread_team *cse_thread_team_new(int threads);
void cse_thread_team_destroy(cse_thread_team **team);

/* Members; 1 for NULL. */
int cse_thread_team_size(const cse_thread_team *team);

/* Not from within `work`, and from one thread at a time. */
void cse_thread_team_divide(cse_thread_team *team, const cse_team_job *job);

/* Memory of a member, at least `bytes`, aligned to 64; its content lasts for a piece. By the member
 * itself. */
void *cse_thread_team_scratch(cse_thread_team *team, int member, size_t bytes);

#endif
