/* Where the samples of a language model stand: one or several folders of HDF5 files, in the
 * layouts of ModelZoo.
 *
 * Sample form: dataset data [samples, features, time]. Corpus form: data [tokens], of which sample
 * i takes the tokens i * time to (i + 1) * time, the last one as a label only; in every other pass
 * (windows.h) all of them stand as far on as the last token of the file allows. */
#ifndef CSE_DATALOADER_TOKENS_TOKEN_SOURCES_H
#define CSE_DATALOADER_TOKENS_TOKEN_SOURCES_H

#include "dataloader/files/file_pool.h"
#include "dataloader/formats/hdf5_table.h"
#include "dataloader/positions/mixture.h"

enum { CSE_TOKEN_FEATURES = 16 };

typedef struct cse_token_file {
    int64_t first; /* its first sample among those of the source */
    int64_t samples;
    bool is_corpus;
    int64_t left_over;     /* corpus form: tokens behind the last sample and its last label */
    cse_hdf5_table *table; /* NULL: closed */
} cse_token_file;

typedef struct cse_token_source {
    int first_file, file_count; /* of the pool */
    int64_t begin, samples;     /* the part of the source that is used */
} cse_token_source;

typedef struct cse_token_sources {
    cse_file_pool *pool;
    cse_token_file *files; /* by the pool's numbers */
    int file_capacity;
    cse_token_source sources[CSE_MIXTURE_SOURCES];
    int count;
    int64_t time;     /* tokens of a sample; 0: not known yet */
    int64_t features; /* of sample form; 0: no such file */
} cse_token_sources;

/* From a zeroed struct that stays where it is. `time` 0: as the files say. */
void cse_token_sources_begin(cse_token_sources *sources, int64_t time);
void cse_token_sources_clear(cse_token_sources *sources);
/* Adds a source: the *.h5 and *.hdf5 files of each folder, or each file, in this order; of their
 * samples the part [from, to) of the whole, fractions of 1. */
cse_status cse_token_sources_add(cse_token_sources *sources, const char *const paths[], int count,
                                 const double part[2]);

/* Where a sample stands. */
typedef struct cse_token_place {
    int file;
    int64_t row;
    int64_t token; /* corpus form: its first one in the file */
} cse_token_place;
cse_token_place cse_token_sources_find(const cse_token_sources *sources, cse_mixture_place place);
/* Sample form: `values` [features, time]. Corpus form: `values` [time + 1]. */
cse_status cse_token_sources_read(cse_token_sources *sources, cse_token_place place,
                                  int32_t *values);
/* Whether a sample, of sample form, lies open in the file, so that its features may be read one by
 * one, without the others. */
cse_status cse_token_sources_lies_open(cse_token_sources *sources, cse_token_place place,
                                       bool *lies_open);
/* `values` [time] of one that does. */
cse_status cse_token_sources_read_feature(cse_token_sources *sources, cse_token_place place,
                                          int64_t feature, int32_t *values);
/* A sample is read soon: cse_file_pool_expect. */
void cse_token_sources_expect(const cse_token_sources *sources, cse_token_place place);

#endif
