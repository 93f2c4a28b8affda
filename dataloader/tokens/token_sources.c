/* Shapes are read when the folder is opened; rows when they are asked for. */
#include "dataloader/tokens/token_sources.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dataloader/files/file_list.h"
#include "dataloader/files/part_of.h"
#include "dataloader/positions/windows.h"
#include "engine/base/arena.h"

static const char dataset[] = "data";

#define MOST_TIME (INT64_C(1) << 24)

static void close_table(void *self, int file)
{
    cse_token_sources *sources = self;
    if (file < sources->file_capacity)
        cse_hdf5_table_close(&sources->files[file].table);
}

void cse_token_sources_begin(cse_token_sources *sources, int64_t time)
{
    sources->pool = cse_file_pool_new(close_table, sources);
    sources->time = time;
}

void cse_token_sources_clear(cse_token_sources *sources)
{
    cse_file_pool_destroy(&sources->pool);
    free(sources->files);
}

static cse_status open_table(cse_token_sources *sources, int file)
{
    int descriptor;
    CSE_TRY(cse_file_pool_descriptor(sources->pool, file, &descriptor));
    if (sources->files[file].table != NULL)
        return CSE_OK;
    return cse_hdf5_table_open(descriptor, cse_file_pool_path_view(sources->pool, file), dataset,
                               &sources->files[file].table);
}

static cse_status wrong_shape(const char *path, cse_shape shape, const char *why)
{
    char text[160];
    return cse_fail(CSE_DATA,
                    "%s: dataset data has the shape %s: %s; accepted are [samples, features, time] "
                    "and [tokens]",
                    path, cse_shape_text(shape, text, sizeof text), why);
}

static cse_status take_shape(cse_token_sources *sources, int file, cse_shape shape)
{
    const char *path = cse_file_pool_path_view(sources->pool, file);
    cse_token_file *f = &sources->files[file];
    f->is_corpus = shape.rank == 1;
    if (f->is_corpus && sources->time == 0)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s holds one sequence of tokens: set max_sequence_length to "
                        "the tokens of a sample",
                        path);
    if (f->is_corpus) {
        f->samples = shape.dims[0] > 0 ? (shape.dims[0] - 1) / sources->time : 0;
        f->left_over = shape.dims[0] > 0 ? (shape.dims[0] - 1) % sources->time : 0;
        return CSE_OK;
    }
    if (shape.rank != 3 || shape.dims[1] < 1 || shape.dims[1] > CSE_TOKEN_FEATURES ||
        shape.dims[2] < 1 || shape.dims[2] > MOST_TIME)
        return wrong_shape(path, shape, "it is none of samples");
    if (sources->time != 0 && sources->time != shape.dims[2])
        return cse_fail(CSE_CONFIG,
                        "data loader: %s has samples of %" PRId64 " tokens, not %" PRId64
                        ": set max_sequence_length to what all files have, or make them anew",
                        path, shape.dims[2], sources->time);
    if (sources->features != 0 && sources->features != shape.dims[1])
        return wrong_shape(path, shape, "other files have another number of features");
    sources->time = shape.dims[2];
    sources->features = shape.dims[1];
    f->samples = shape.dims[0];
    return CSE_OK;
}

static cse_status add_file(cse_token_sources *sources, const char *path, int64_t *samples)
{
    int file;
    CSE_TRY(cse_file_pool_add(sources->pool, path, &file));
    while (file >= sources->file_capacity) {
        const int grown = sources->file_capacity == 0 ? 16 : sources->file_capacity * 2;
        sources->files = cse_realloc(sources->files, (size_t)grown * sizeof *sources->files);
        memset(sources->files + sources->file_capacity, 0,
               (size_t)(grown - sources->file_capacity) * sizeof *sources->files);
        sources->file_capacity = grown;
    }
    CSE_TRY(open_table(sources, file));
    CSE_TRY(take_shape(sources, file, cse_hdf5_table_shape(sources->files[file].table)));
    sources->files[file].first = *samples;
    *samples += sources->files[file].samples;
    return CSE_OK;
}

static cse_status add_files(cse_token_sources *sources, const char *path, int64_t *samples)
{
    struct stat info;
    cse_file_list list = { 0 };
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return add_file(sources, path, samples);
    cse_status status = cse_file_list_read(&list, path, ".h5|.hdf5");
    if (status == CSE_OK && list.count == 0)
        status = cse_fail(CSE_NO_INPUT,
                          "%s: no file ends in .h5 or .hdf5: give the folder that csengine data "
                          "tokenize wrote",
                          path);
    for (int i = 0; i < list.count && status == CSE_OK; i++)
        status =
            add_file(sources, cse_arena_printf(list.arena, "%s/%s", path, list.names[i]), samples);
    cse_file_list_clear(&list);
    return status;
}

cse_status cse_token_sources_add(cse_token_sources *sources, const char *const paths[], int count,
                                 const double part[2])
{
    int64_t samples = 0;
    if (sources->count == CSE_MIXTURE_SOURCES)
        return cse_fail(CSE_CONFIG, "data loader: mixture has more than %d sources",
                        CSE_MIXTURE_SOURCES);
    cse_token_source *source = &sources->sources[sources->count];
    source->first_file = cse_file_pool_count(sources->pool);
    for (int i = 0; i < count; i++)
        CSE_TRY(add_files(sources, paths[i], &samples));
    source->file_count = cse_file_pool_count(sources->pool) - source->first_file;
    source->begin = (int64_t)(part[0] * (double)samples + 0.5);
    source->samples = (int64_t)(part[1] * (double)samples + 0.5) - source->begin;
    if (source->samples < 1)
        return cse_fail(CSE_DATA, "%s: no sample of %" PRId64 " tokens is in it", paths[0],
                        sources->time);
    sources->count++;
    return CSE_OK;
}

/* Of a file that is used in part, the tokens behind that part are not this source's. */
static bool has_its_end(const cse_token_source *source, const cse_token_file *file)
{
    return source->begin + source->samples >= file->first + file->samples;
}

cse_token_place cse_token_sources_find(const cse_token_sources *sources, cse_mixture_place place)
{
    const cse_token_source *source = &sources->sources[place.source];
    const int64_t sample = source->begin + place.sample;
    const cse_token_file *files = &sources->files[source->first_file];
    const int64_t part = cse_part_of(&files->first, sizeof *files, source->file_count, sample);
    const cse_token_file *file = &files[part];
    const int64_t row = sample - file->first;
    const int64_t left_over = has_its_end(source, file) ? file->left_over : 0;
    return (cse_token_place){ .file = source->first_file + (int)part,
                              .row = row,
                              .token =
                                  row * sources->time + cse_windows_shift(left_over, place.pass) };
}

/* What lies open is read by the pool, anything else by the library. */
static cse_status read_block(cse_token_sources *sources, int file, const int64_t *starts,
                             const int64_t *counts, int32_t *values)
{
    cse_hdf5_piece piece;
    const cse_hdf5_table *table = sources->files[file].table;
    if (!cse_hdf5_table_place(table, starts, counts, CSE_INT32, &piece))
        return cse_hdf5_table_read(table, starts, counts, CSE_INT32, values);
    const int size = piece.numbers.size;
    unsigned char *raw =
        size < 4 ? cse_malloc((size_t)(piece.count * size) + 1) : (unsigned char *)values;
    cse_status status = cse_file_pool_read_more(sources->pool, file, piece.offset, raw,
                                                (size_t)(piece.count * size));
    if (size < 4 && status == CSE_OK)
        cse_npy_convert(&piece.numbers, raw, piece.count, CSE_INT32, values);
    if (size < 4)
        free(raw);
    return status;
}

cse_status cse_token_sources_read(cse_token_sources *sources, cse_token_place place,
                                  int32_t *values)
{
    CSE_TRY(open_table(sources, place.file));
    const cse_token_file *f = &sources->files[place.file];
    const int64_t tokens = sources->time + 1;
    const int64_t starts[3] = { place.row, 0, 0 };
    const int64_t counts[3] = { 1, sources->features, sources->time };
    return f->is_corpus ? read_block(sources, place.file, &place.token, &tokens, values)
                        : read_block(sources, place.file, starts, counts, values);
}

static bool find_piece(const cse_token_sources *sources, cse_token_place place,
                       cse_hdf5_piece *piece)
{
    const cse_token_file *f = &sources->files[place.file];
    const int64_t starts[3] = { place.row, 0, 0 };
    const int64_t counts[3] = { 1, sources->features, sources->time };
    return f->table != NULL && !f->is_corpus &&
           cse_hdf5_table_place(f->table, starts, counts, CSE_INT32, piece);
}

cse_status cse_token_sources_lies_open(cse_token_sources *sources, cse_token_place place,
                                       bool *lies_open)
{
    cse_hdf5_piece piece;
    CSE_TRY(open_table(sources, place.file));
    *lies_open = find_piece(sources, place, &piece) && piece.numbers.size == 4;
    return CSE_OK;
}

cse_status cse_token_sources_read_feature(cse_token_sources *sources, cse_token_place place,
                                          int64_t feature, int32_t *values)
{
    const int64_t starts[3] = { place.row, feature, 0 }, counts[3] = { 1, 1, sources->time };
    return read_block(sources, place.file, starts, counts, values);
}

void cse_token_sources_expect(const cse_token_sources *sources, cse_token_place place)
{
    cse_hdf5_piece piece;
    if (find_piece(sources, place, &piece))
        cse_file_pool_expect(sources->pool, place.file, piece.offset,
                             (size_t)(piece.count * piece.numbers.size));
}
