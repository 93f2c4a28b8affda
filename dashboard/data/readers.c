/* A list of idle readers; the least recently used one is closed when it is full. */
#include "dashboard/data/readers.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

enum { MOST_IDLE = 16 };

typedef struct idle_reader {
    char *model_dir;
    cse_store_reader *reader;
    long used;
} idle_reader;

struct cse_readers {
    pthread_mutex_t lock;
    idle_reader idle[MOST_IDLE];
    long uses;
};

cse_readers *cse_readers_new(void)
{
    cse_readers *readers = cse_calloc(1, sizeof *readers);
    pthread_mutex_init(&readers->lock, NULL);
    return readers;
}

static void close_idle(idle_reader *idle)
{
    if (idle->reader == NULL)
        return;
    cse_store_reader_close(&idle->reader);
    free(idle->model_dir);
    idle->model_dir = NULL;
}

void cse_readers_destroy(cse_readers **readers)
{
    if (*readers == NULL)
        return;
    for (int i = 0; i < MOST_IDLE; i++)
        close_idle(&(*readers)->idle[i]);
    pthread_mutex_destroy(&(*readers)->lock);
    free(*readers);
    *readers = NULL;
}

cse_status cse_readers_borrow(cse_readers *readers, const char *model_dir,
                              cse_store_reader **reader)
{
    *reader = NULL;
    pthread_mutex_lock(&readers->lock);
    for (int i = 0; i < MOST_IDLE && *reader == NULL; i++) {
        idle_reader *idle = &readers->idle[i];
        if (idle->reader == NULL || strcmp(idle->model_dir, model_dir) != 0)
            continue;
        *reader = idle->reader;
        idle->reader = NULL;
        free(idle->model_dir);
        idle->model_dir = NULL;
    }
    pthread_mutex_unlock(&readers->lock);
    return *reader != NULL ? CSE_OK : cse_store_reader_open(model_dir, reader);
}

void cse_readers_give_back(cse_readers *readers, const char *model_dir, cse_store_reader **reader)
{
    if (*reader == NULL)
        return;
    assert(model_dir != NULL);
    pthread_mutex_lock(&readers->lock);
    idle_reader *place = &readers->idle[0];
    for (int i = 0; i < MOST_IDLE && place->reader != NULL; i++)
        if (readers->idle[i].reader == NULL || readers->idle[i].used < place->used)
            place = &readers->idle[i];
    close_idle(place);
    *place = (idle_reader){ .model_dir = cse_strdup(model_dir),
                            .reader = *reader,
                            .used = ++readers->uses };
    pthread_mutex_unlock(&readers->lock);
    *reader = NULL;
}

void cse_readers_forget(cse_readers *readers, const char *model_dir)
{
    pthread_mutex_lock(&readers->lock);
    for (int i = 0; i < MOST_IDLE; i++)
        if (readers->idle[i].reader != NULL && strcmp(readers->idle[i].model_dir, model_dir) == 0)
            close_idle(&readers->idle[i]);
    pthread_mutex_unlock(&readers->lock);
}

static void take_number(void *self, const cse_row *row)
{
    *(int64_t *)self = row->fields[0].integer;
}

cse_status cse_newest_event(cse_store_reader *reader, int64_t *number)
{
    const cse_store_query query = { .limit = 1, .newest_first = true };
    *number = 0;
    return cse_store_reader_rows(reader, CSE_ROW_EVENT, &query, take_number, number);
}
