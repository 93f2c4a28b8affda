/* The writer's thread of a store: publishes what is queued and writes it to run.db. */
#ifndef CSE_STORE_WRITER_H
#define CSE_STORE_WRITER_H

/* The body of the thread; `self` is the store (store/shared.h). */
void *cse_writer_main(void *self);

#endif
