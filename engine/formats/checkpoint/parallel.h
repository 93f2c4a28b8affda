/* Independent pieces of work on the processors that this process may use: digests of many tensors.
 *
 * The threads take the next index from one counter, so that a long piece does not hold the others
 * up; where no thread can be made the caller does all of it. Which thread does a piece must not
 * show in its result. */
#ifndef CSE_CHECKPOINT_PARALLEL_H
#define CSE_CHECKPOINT_PARALLEL_H

/* Calls piece(self, i) once for each i in [0, count) and returns when all have returned. A piece
 * makes no error message: those belong to a thread. */
void cse_parallel_for(int count, void (*piece)(void *self, int index), void *self);

#endif
