/* arrow.apache.org/docs/format/Columnar.html: a message is its size, a table of FlatBuffers that
 * says what it is, and a body. Field numbers are those of Schema.fbs and Message.fbs. */
#include "dataloader/formats/arrow_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/files/part_of.h"
#include "dataloader/formats/flatbuffer.h"
#include "engine/base/types/dtype.h"
#include "engine/base/types/shape.h"

enum { MESSAGE_VERSION, MESSAGE_TYPE, MESSAGE_HEADER, MESSAGE_BODY };
enum { OF_SCHEMA = 1, OF_DICTIONARY, OF_BATCH };
enum { SCHEMA_ENDIAN, SCHEMA_FIELDS };
enum { FIELD_NAME, FIELD_NULLABLE, FIELD_TYPE, FIELD_TYPE_TABLE, FIELD_DICTIONARY, FIELD_CHILDREN };
enum { BATCH_ROWS, BATCH_NODES, BATCH_BUFFERS, BATCH_COMPRESSION };
enum {
    TYPE_NULL = 1,
    TYPE_INT,
    TYPE_FLOAT,
    TYPE_BINARY,
    TYPE_TEXT,
    TYPE_BOOL,
    TYPE_DECIMAL,
    TYPE_DATE,
    TYPE_TIME,
    TYPE_TIMESTAMP,
    TYPE_INTERVAL,
    TYPE_LIST,
    TYPE_STRUCT,
    TYPE_UNION,
    TYPE_FIXED_BINARY,
    TYPE_FIXED_LIST,
    TYPE_MAP,
    TYPE_DURATION,
    TYPE_LARGE_BINARY,
    TYPE_LARGE_TEXT,
    TYPE_LARGE_LIST
};
enum {
    MOST_HEAD = 1 << 26,
    MOST_NAME = 1024,
    MOST_COLUMNS = 1 << 14,
    MOST_FIELDS = 1 << 16,
    MOST_LEVELS = 16,
    VERSION_5 = 4,
    KEPT_BYTES = 1 << 26, /* of small blocks of a file, in memory */
    WINDOW_BYTES = 1 << 14
};
#define MOST_VALUES (INT64_C(1) << 40)

static const char magic[] = "ARROW1\0\0";

typedef struct reading {
    cse_arrow_file *table;
    const char *path;
    uint64_t next, bytes;
    bool has_schema;
    int nodes, buffers, fields; /* of a batch, and all fields so far */
    int version;
    cse_flat_vector node_list, buffer_list; /* of the batch at hand */
} reading;

static cse_status refuse(const reading *r, const char *what)
{
    return cse_fail(CSE_DATA, "%s: byte %" PRIu64 ": %s", r->path, r->next, what);
}

/* ---- the schema ---- */

/* How many buffers a field has itself; -1: not known. */
static int own_buffers(int64_t type, const cse_flat_table *of, int version)
{
    switch (type) {
    case TYPE_NULL:
        return 0;
    case TYPE_STRUCT:
    case TYPE_FIXED_LIST:
        return 1;
    case TYPE_TEXT:
    case TYPE_BINARY:
    case TYPE_LARGE_TEXT:
    case TYPE_LARGE_BINARY:
        return 3;
    case TYPE_UNION: /* its mode: sparse, dense */
        return (version < VERSION_5) + (cse_flat_integer(of, 0, 2, 0) == 0 ? 1 : 2);
    default:
        return type >= TYPE_INT && type <= TYPE_LARGE_LIST ? 2 : -1;
    }
}

static bool is_number(int64_t type, const cse_flat_table *of, cse_arrow_column *column)
{
    static const int float_bits[] = { 16, 32, 64 };
    if (type == TYPE_BOOL) {
        column->type = CSE_ARROW_BOOL;
        column->bits = 1;
        return true;
    }
    if (type == TYPE_FLOAT) {
        const int64_t precision = cse_flat_integer(of, 0, 2, 0);
        column->type = CSE_ARROW_FLOAT;
        column->bits = precision >= 0 && precision < 3 ? float_bits[precision] : 0;
        return column->bits > 0;
    }
    if (type != TYPE_INT)
        return false;
    const int64_t bits = cse_flat_integer(of, 0, 4, 0);
    column->type = cse_flat_integer(of, 1, 1, 0) != 0 ? CSE_ARROW_INT : CSE_ARROW_UNSIGNED;
    column->bits = (int)bits;
    return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/* A number within `levels` lists of fixed size, or one of any. */
static cse_arrow_kind kind_of(const cse_flat_table *field, cse_arrow_column *column)
{
    cse_flat_table at = *field;
    for (int level = 0; level < CSE_MAX_RANK - 1; level++) {
        const int64_t type = cse_flat_integer(&at, FIELD_TYPE, 1, 0);
        const cse_flat_table of = cse_flat_inner(&at, FIELD_TYPE_TABLE);
        const cse_flat_vector children = cse_flat_list(&at, FIELD_CHILDREN, 4);
        if (cse_flat_inner(&at, FIELD_DICTIONARY).at != 0)
            return CSE_ARROW_OTHER;
        if (is_number(type, &of, column))
            return column->kind == CSE_ARROW_LIST ? CSE_ARROW_LIST : CSE_ARROW_NUMBERS;
        column->wide =
            type == TYPE_LARGE_LIST || type == TYPE_LARGE_TEXT || type == TYPE_LARGE_BINARY;
        if (level == 0 && own_buffers(type, &of, VERSION_5) == 3)
            return CSE_ARROW_TEXT;
        if (children.count != 1 || column->kind == CSE_ARROW_LIST)
            return CSE_ARROW_OTHER;
        if (level == 0 && (type == TYPE_LIST || type == TYPE_LARGE_LIST)) {
            column->kind = CSE_ARROW_LIST;
        } else if (type == TYPE_FIXED_LIST) {
            const int64_t size = cse_flat_integer(&of, 0, 4, 0);
            if (size < 1)
                return CSE_ARROW_OTHER;
            column->shape.dims[column->shape.rank++] = size;
        } else {
            return CSE_ARROW_OTHER;
        }
        column->levels = level + 1;
        at = cse_flat_list_table(&children, 0);
    }
    return CSE_ARROW_OTHER;
}

/* Counts the nodes and buffers of a field and of those below it. */
static cse_status count_parts(reading *r, const cse_flat_table *field, int level)
{
    const cse_flat_table of = cse_flat_inner(field, FIELD_TYPE_TABLE);
    const int64_t type = cse_flat_integer(field, FIELD_TYPE, 1, 0);
    const bool is_index = cse_flat_inner(field, FIELD_DICTIONARY).at != 0;
    const cse_flat_vector children = cse_flat_list(field, FIELD_CHILDREN, 4);
    const int own = is_index ? 2 : own_buffers(type, &of, r->version);
    if (own < 0)
        return refuse(r, "a column has a type that is not known; convert it before you save");
    if (level == MOST_LEVELS || ++r->fields > MOST_FIELDS)
        return refuse(r, "columns are nested more than 16 times, or have too many parts");
    r->nodes++;
    r->buffers += own;
    for (size_t i = 0; i < children.count && !is_index; i++) {
        const cse_flat_table child = cse_flat_list_table(&children, i);
        CSE_TRY(count_parts(r, &child, level + 1));
    }
    return CSE_OK;
}

static cse_status read_column(reading *r, const cse_flat_table *field, cse_arrow_column *column)
{
    size_t size = 0;
    const char *name = cse_flat_text(field, FIELD_NAME, &size);
    if (name == NULL || size > MOST_NAME || memchr(name, '\0', size) != NULL)
        return refuse(r, "a column has no name, or one of more than 1024 bytes");
    *column = (cse_arrow_column){ .node = r->nodes, .buffer = r->buffers };
    column->name = cse_arena_printf(r->table->arena, "%.*s", (int)size, name);
    column->kind = kind_of(field, column);
    if (column->kind == CSE_ARROW_NUMBERS &&
        (cse_shape_elements(column->shape) < 1 || cse_shape_elements(column->shape) > 1 << 30))
        column->kind = CSE_ARROW_OTHER;
    return count_parts(r, field, 0);
}

static cse_status read_schema(reading *r, const cse_flat_table *schema)
{
    cse_arrow_file *table = r->table;
    const cse_flat_vector fields = cse_flat_list(schema, SCHEMA_FIELDS, 4);
    if (r->has_schema)
        return refuse(r, "there is a second schema");
    if (cse_flat_integer(schema, SCHEMA_ENDIAN, 2, 0) != 0)
        return refuse(r, "numbers are in the byte order of other machines");
    if (fields.count > MOST_COLUMNS)
        return refuse(r, "it has more than 16384 columns");
    table->columns = cse_arena_alloc(table->arena, (fields.count + 1) * sizeof *table->columns);
    for (size_t i = 0; i < fields.count; i++) {
        const cse_flat_table field = cse_flat_list_table(&fields, i);
        CSE_TRY(read_column(r, &field, &table->columns[i]));
    }
    table->windows = cse_arena_alloc(table->arena, (fields.count + 1) * sizeof *table->windows);
    table->column_count = (int)fields.count;
    r->has_schema = true;
    return CSE_OK;
}

/* ---- batches ---- */

/* The block that buffer `index` is, which has `least` bytes. */
static cse_status take_block(const reading *r, int index, uint64_t least, cse_arrow_block *block)
{
    const int64_t at = cse_flat_list_integer(&r->buffer_list, (size_t)index, 0);
    const int64_t bytes = cse_flat_list_integer(&r->buffer_list, (size_t)index, 8);
    const uint64_t body = r->bytes - r->next;
    if (at < 0 || bytes < 0 || (uint64_t)at > body || (uint64_t)bytes > body - (uint64_t)at ||
        (uint64_t)bytes < least)
        return refuse(r, "a column of a batch goes beyond it, or is too short");
    *block = (cse_arrow_block){ r->next + (uint64_t)at, (uint64_t)bytes, NULL };
    return CSE_OK;
}

/* The bits of level `level`, where one is null; and how many elements it has. */
static cse_status take_level(const reading *r, const cse_arrow_column *column, int level,
                             cse_arrow_part *part, int64_t *count)
{
    const size_t node = (size_t)(column->node + level);
    const bool of_list = column->kind == CSE_ARROW_LIST && level > 0;
    const int buffer = column->buffer + level + of_list;
    *count = cse_flat_list_integer(&r->node_list, node, 0);
    if (*count < 0 || *count > MOST_VALUES)
        return refuse(r, "a column of a batch has a number of rows that cannot be");
    if (cse_flat_list_integer(&r->node_list, node, 8) == 0)
        return CSE_OK;
    return take_block(r, buffer, ((uint64_t)*count + 7) / 8, &part->missing[level]);
}

static cse_status take_part(const reading *r, int64_t rows, const cse_arrow_column *column,
                            cse_arrow_part *part)
{
    const bool has_places = column->kind == CSE_ARROW_LIST || column->kind == CSE_ARROW_TEXT;
    int64_t count = 0, expected = rows;
    const int levels = column->kind == CSE_ARROW_TEXT ? 0 : column->levels;
    for (int level = 0; level <= levels; level++) {
        CSE_TRY(take_level(r, column, level, part, &count));
        if ((level == 0 && count != rows) ||
            (column->kind == CSE_ARROW_NUMBERS && count < expected))
            return refuse(r, "columns of a batch do not have the same rows");
        if (column->kind == CSE_ARROW_NUMBERS && level < levels)
            expected *= column->shape.dims[level];
        if (expected > MOST_VALUES)
            return refuse(r, "a column of a batch has more than 2^40 numbers");
    }
    int buffer = column->buffer + levels + 1;
    if (has_places && rows > 0)
        CSE_TRY(take_block(r, column->buffer + 1, ((uint64_t)rows + 1) * (column->wide ? 8 : 4),
                           &part->places));
    if (has_places)
        buffer = column->buffer + (column->kind == CSE_ARROW_LIST ? 3 : 2);
    part->values = count;
    const uint64_t least =
        column->kind == CSE_ARROW_TEXT ? 0 : ((uint64_t)count * (uint64_t)column->bits + 7) / 8;
    CSE_TRY(take_block(r, buffer, least, &part->data));
    if (column->kind == CSE_ARROW_TEXT)
        part->values = (int64_t)part->data.bytes;
    return CSE_OK;
}

static cse_status read_batch(reading *r, const cse_flat_table *batch)
{
    cse_arrow_file *table = r->table;
    r->node_list = cse_flat_list(batch, BATCH_NODES, 16);
    r->buffer_list = cse_flat_list(batch, BATCH_BUFFERS, 16);
    const int64_t rows = cse_flat_integer(batch, BATCH_ROWS, 8, 0);
    if (!r->has_schema)
        return refuse(r, "a batch comes before the schema");
    if (cse_flat_inner(batch, BATCH_COMPRESSION).at != 0)
        return refuse(r, "its batches are compressed; save them without compression");
    if (rows < 0 || rows > MOST_VALUES - table->rows)
        return refuse(r, "a batch has a number of rows that cannot be");
    if (r->node_list.count < (size_t)r->nodes || r->buffer_list.count < (size_t)r->buffers)
        return refuse(r, "a batch lacks columns of the schema");
    CSE_GROW(table->batches, table->batch_count, table->batch_capacity);
    cse_arrow_batch *made = &table->batches[table->batch_count++];
    *made = (cse_arrow_batch){ .first = table->rows, .rows = rows };
    made->parts =
        cse_arena_alloc(table->arena, ((size_t)table->column_count + 1) * sizeof *made->parts);
    for (int i = 0; i < table->column_count; i++)
        if (table->columns[i].kind != CSE_ARROW_OTHER)
            CSE_TRY(take_part(r, rows, &table->columns[i], &made->parts[i]));
    table->rows += rows;
    return CSE_OK;
}

/* ---- messages ---- */

static cse_status read_message(reading *r, cse_flatbuffer *buffer, uint64_t *body)
{
    const cse_flat_table message = cse_flat_root(buffer);
    const int64_t type = cse_flat_integer(&message, MESSAGE_TYPE, 1, 0);
    const cse_flat_table header = cse_flat_inner(&message, MESSAGE_HEADER);
    const int64_t bytes = cse_flat_integer(&message, MESSAGE_BODY, 8, 0);
    if (message.at == 0 || header.at == 0 || bytes < 0 || (uint64_t)bytes > r->bytes - r->next)
        return refuse(r, "a message is damaged, or the file was cut off");
    *body = (uint64_t)bytes;
    r->version = (int)cse_flat_integer(&message, MESSAGE_VERSION, 2, 0);
    const uint64_t whole = r->bytes;
    r->bytes = r->next + *body; /* what a batch may reach */
    cse_status status = type == OF_SCHEMA  ? read_schema(r, &header)
                        : type == OF_BATCH ? read_batch(r, &header)
                                           : CSE_OK;
    if (status == CSE_OK && buffer->is_damaged)
        status = refuse(r, "a message is damaged");
    r->bytes = whole;
    return status;
}

/* The bytes of the next message's table; 0: the stream ends. */
static cse_status read_size(reading *r, uint64_t *size)
{
    unsigned char bytes[4];
    *size = 0;
    for (int i = 0; i < 2; i++) {
        if (r->bytes - r->next < sizeof bytes)
            return CSE_OK;
        CSE_TRY(cse_file_pool_read(r->table->pool, r->table->file, (int64_t)r->next, bytes,
                                   sizeof bytes));
        r->next += sizeof bytes;
        *size = (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 |
                (uint64_t)bytes[3] << 24;
        if (*size != UINT32_MAX) /* the mark that stands before the size since version 0.15 */
            return CSE_OK;
    }
    return refuse(r, "a message has no size");
}

static cse_status read_stream(reading *r)
{
    uint64_t size = 0, body = 0;
    for (;;) {
        CSE_TRY(read_size(r, &size));
        if (size == 0)
            break;
        if (size > MOST_HEAD || size > r->bytes - r->next)
            return refuse(r, "it is no stream of Arrow: a message goes beyond the end of the file, "
                             "or has more than 64 MiB without its rows");
        unsigned char *head = cse_malloc(size);
        cse_flatbuffer buffer = { head, size, false };
        cse_status status =
            cse_file_pool_read(r->table->pool, r->table->file, (int64_t)r->next, head, size);
        r->next += size;
        if (status == CSE_OK)
            status = read_message(r, &buffer, &body);
        free(head);
        CSE_TRY(status);
        r->next += body;
    }
    return r->has_schema ? CSE_OK : refuse(r, "it is no stream of Arrow: there is no schema");
}

cse_status cse_arrow_open(cse_file_pool *pool, int file, cse_arrow_file *table)
{
    char start[sizeof magic - 1] = "";
    *table = (cse_arrow_file){ .arena = cse_arena_new(), .pool = pool, .file = file };
    table->room = cse_arena_alloc(table->arena, sizeof *table->room);
    *table->room = KEPT_BYTES;
    reading r = { .table = table,
                  .path = cse_file_pool_path_view(pool, file),
                  .bytes = (uint64_t)cse_file_pool_bytes(pool, file) };
    if (r.bytes >= sizeof start)
        CSE_TRY(cse_file_pool_read(pool, file, 0, start, sizeof start));
    if (memcmp(start, "PAR1", 4) == 0)
        return cse_fail(CSE_DATA,
                        "%s: it is Parquet, which is not read; in Python: "
                        "datasets.Dataset.from_parquet(FILE).save_to_disk(FOLDER)",
                        r.path);
    if (memcmp(start, magic, sizeof start) == 0)
        r.next = sizeof start;
    return read_stream(&r);
}

void cse_arrow_clear(cse_arrow_file *table)
{
    if (table->arena != NULL)
        cse_arena_destroy(&table->arena);
    free(table->batches);
    *table = (cse_arrow_file){ .arena = NULL };
}

int cse_arrow_find(const cse_arrow_file *table, const char *name)
{
    for (int i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- rows ---- */

/* Some numbers of a batch that follow one another. */
typedef struct span {
    int64_t first, count;
} span;

static const cse_arrow_batch *batch_of(const cse_arrow_file *table, int64_t row)
{
    return &table->batches[cse_part_of(&table->batches[0].first, sizeof table->batches[0],
                                       table->batch_count, row)];
}

static cse_status wrong(const cse_arrow_file *table, cse_arrow_cell cell, const char *what)
{
    return cse_fail(CSE_DATA, "%s: row %" PRId64 ", column %s: %s",
                    cse_file_pool_path_view(table->pool, table->file), cell.row,
                    table->columns[cell.column].name, what);
}

static cse_status read_block(const cse_arrow_file *table, const cse_arrow_block *block,
                             uint64_t offset, void *bytes, uint64_t size)
{
    if (size > block->bytes || offset > block->bytes - size)
        return cse_fail(CSE_DATA, "%s: a column is too short",
                        cse_file_pool_path_view(table->pool, table->file));
    return cse_file_pool_read_more(table->pool, table->file, (int64_t)(block->at + offset), bytes,
                                   (size_t)size);
}

/* The same of a block of which each row has a few bits or bytes: where there is room, all of it is
 * read once. */
static cse_status read_small(const cse_arrow_file *table, cse_arrow_block *block, uint64_t offset,
                             void *bytes, uint64_t size)
{
    if (block->kept == NULL && block->bytes <= *table->room) {
        *table->room -= block->bytes;
        unsigned char *kept = cse_arena_alloc(table->arena, block->bytes + 1);
        CSE_TRY(read_block(table, block, 0, kept, block->bytes));
        block->kept = kept;
    }
    if (block->kept == NULL || size > block->bytes || offset > block->bytes - size)
        return read_block(table, block, offset, bytes, size);
    memcpy(bytes, block->kept + offset, (size_t)size);
    return CSE_OK;
}

/* The same for rows that are read one after another. */
static cse_status read_next(const cse_arrow_file *table, cse_arrow_cell cell, uint64_t offset,
                            void *bytes, uint64_t size)
{
    const cse_arrow_block *block = &batch_of(table, cell.row)->parts[cell.column].data;
    cse_arrow_window *w = &table->windows[cell.column];
    if (size > block->bytes || offset > block->bytes - size)
        return read_block(table, block, offset, bytes, size);
    if (w->of != block || offset < w->offset || offset + size > w->offset + w->bytes) {
        const uint64_t left = block->bytes - offset;
        if (w->content == NULL)
            w->content = cse_arena_alloc(table->arena, WINDOW_BYTES);
        w->of = NULL;
        w->offset = offset;
        w->bytes = left < WINDOW_BYTES ? left : WINDOW_BYTES;
        CSE_TRY(read_block(table, block, offset, w->content, w->bytes));
        w->of = block;
    }
    memcpy(bytes, w->content + (offset - w->offset), (size_t)size);
    return CSE_OK;
}

/* Whether elements [first, first + count) of a level are all there. */
static cse_status are_there(const cse_arrow_file *table, cse_arrow_block *bits, int64_t first,
                            int64_t count, bool *there)
{
    unsigned char block[512];
    *there = true;
    for (int64_t at = first; at < first + count && bits->bytes > 0 && *there;) {
        const int64_t byte = at / 8, left = (first + count - 1) / 8 - byte + 1;
        const int64_t some = left < (int64_t)sizeof block ? left : (int64_t)sizeof block;
        CSE_TRY(read_small(table, bits, (uint64_t)byte, block, (uint64_t)some));
        for (; at < first + count && at / 8 < byte + some && *there; at++)
            *there = block[at / 8 - byte] >> (at % 8) & 1;
    }
    return CSE_OK;
}

/* Where the numbers, or the bytes, of a row stand among those of its batch. */
static cse_status find_values(const cse_arrow_file *table, cse_arrow_cell cell, span *values)
{
    unsigned char bytes[16];
    const cse_arrow_column *c = &table->columns[cell.column];
    const cse_arrow_batch *batch = batch_of(table, cell.row);
    cse_arrow_part *part = &batch->parts[cell.column];
    const int64_t at = cell.row - batch->first;
    if (c->kind == CSE_ARROW_NUMBERS) {
        values->count = cse_shape_elements(c->shape);
        values->first = at * values->count;
        return CSE_OK;
    }
    const int width = c->wide ? 8 : 4;
    uint64_t ends[2] = { 0, 0 };
    CSE_TRY(read_small(table, &part->places, (uint64_t)at * (uint64_t)width, bytes,
                       2 * (uint64_t)width));
    for (int e = 0; e < 2; e++)
        for (int i = width; i > 0; i--)
            ends[e] = ends[e] << 8 | bytes[e * width + i - 1];
    if (ends[0] > ends[1] || ends[1] > (uint64_t)part->values)
        return wrong(table, cell, "its place is not within the column");
    values->first = (int64_t)ends[0];
    values->count = (int64_t)(ends[1] - ends[0]);
    return CSE_OK;
}

static cse_status check_there(const cse_arrow_file *table, cse_arrow_cell cell)
{
    bool there = true;
    if (cell.row < 0 || cell.row >= table->rows ||
        table->columns[cell.column].kind == CSE_ARROW_OTHER)
        return wrong(table, cell, "there is no such row, or its column is not read");
    const cse_arrow_batch *batch = batch_of(table, cell.row);
    CSE_TRY(are_there(table, &batch->parts[cell.column].missing[0], cell.row - batch->first, 1,
                      &there));
    return there ? CSE_OK : wrong(table, cell, "it is null");
}

cse_status cse_arrow_length(const cse_arrow_file *table, cse_arrow_cell cell, int64_t *length)
{
    span values = { 0, 0 };
    CSE_TRY(check_there(table, cell));
    CSE_TRY(find_values(table, cell, &values));
    *length = values.count;
    return CSE_OK;
}

static cse_status read_bits(const cse_arrow_file *table, const cse_arrow_part *part, span bits,
                            cse_dtype dtype, int32_t *values)
{
    for (int64_t i = 0; i < bits.count; i++) {
        unsigned char byte;
        CSE_TRY(read_block(table, &part->data, (uint64_t)(bits.first + i) / 8, &byte, 1));
        const int32_t bit = byte >> ((bits.first + i) % 8) & 1;
        const float value = (float)bit;
        memcpy(values + i, dtype == CSE_FLOAT32 ? (const void *)&value : (const void *)&bit, 4);
    }
    return CSE_OK;
}

cse_status cse_arrow_read(const cse_arrow_file *table, cse_arrow_cell cell, int64_t count,
                          cse_dtype dtype, void *values)
{
    enum { BLOCK = 4096 };
    unsigned char block[BLOCK];
    const cse_arrow_column *c = &table->columns[cell.column];
    span own = { 0, 0 };
    CSE_TRY(check_there(table, cell));
    CSE_TRY(find_values(table, cell, &own));
    cse_arrow_part *part = &batch_of(table, cell.row)->parts[cell.column];
    int64_t from = own.first, many = count;
    for (int level = c->levels; level > 0; level--) {
        bool there;
        CSE_TRY(are_there(table, &part->missing[level], from, many, &there));
        if (!there)
            return wrong(table, cell, "a number in it is null");
        const int64_t size = c->kind == CSE_ARROW_NUMBERS ? c->shape.dims[level - 1] : 1;
        many = (from + many + size - 1) / size - from / size;
        from /= size;
    }
    if (count > own.count)
        return wrong(table, cell, "it is shorter");
    if (c->bits == 1)
        return read_bits(table, part, (span){ own.first, count }, dtype, values);
    const int64_t width = c->bits / 8, most = BLOCK / width;
    const cse_arrow_form form = { c->type, c->bits };
    if (cse_arrow_is_as(form, dtype))
        return read_block(table, &part->data, (uint64_t)(own.first * width), values,
                          (uint64_t)(count * width));
    for (int64_t done = 0; done < count;) {
        const int64_t some = count - done < most ? count - done : most;
        CSE_TRY(read_block(table, &part->data, (uint64_t)((own.first + done) * width), block,
                           (uint64_t)(some * width)));
        if (!cse_arrow_convert(form, block, some, dtype, (unsigned char *)values + done * 4))
            return wrong(table, cell, "a number in it is no int32");
        done += some;
    }
    return CSE_OK;
}

void cse_arrow_expect(const cse_arrow_file *table, cse_arrow_cell cell)
{
    span own = { 0, 0 };
    const cse_arrow_column *c = &table->columns[cell.column];
    const cse_arrow_part *part = &batch_of(table, cell.row)->parts[cell.column];
    const bool is_known = c->kind == CSE_ARROW_NUMBERS || part->places.kept != NULL;
    if (!is_known || find_values(table, cell, &own) != CSE_OK)
        return;
    const int64_t bytes = own.count * c->bits / 8;
    cse_file_pool_expect(table->pool, table->file, (int64_t)part->data.at + own.first * c->bits / 8,
                         (size_t)(bytes < WINDOW_BYTES ? bytes : WINDOW_BYTES));
}

cse_status cse_arrow_is_null(const cse_arrow_file *table, cse_arrow_cell cell, bool *null)
{
    bool there = true;
    const cse_arrow_batch *batch = batch_of(table, cell.row);
    CSE_TRY(are_there(table, &batch->parts[cell.column].missing[0], cell.row - batch->first, 1,
                      &there));
    *null = !there;
    return CSE_OK;
}

cse_status cse_arrow_read_number(const cse_arrow_file *table, cse_arrow_cell cell,
                                 cse_arrow_number *number)
{
    unsigned char bytes[8];
    const cse_arrow_column *c = &table->columns[cell.column];
    const cse_arrow_batch *batch = batch_of(table, cell.row);
    const int64_t at = cell.row - batch->first, width = c->bits / 8;
    *number = (cse_arrow_number){ .value = (double)NAN, .exact = true };
    CSE_TRY(cse_arrow_is_null(table, cell, &number->missing));
    if (number->missing)
        return CSE_OK;
    if (c->bits == 1) {
        CSE_TRY(read_next(table, cell, (uint64_t)at / 8, bytes, 1));
        number->value = bytes[0] >> (at % 8) & 1;
        return CSE_OK;
    }
    CSE_TRY(read_next(table, cell, (uint64_t)(at * width), bytes, (uint64_t)width));
    if (c->type == CSE_ARROW_FLOAT) {
        number->value = cse_arrow_float(bytes, c->bits);
        return CSE_OK;
    }
    const int64_t whole = cse_arrow_integer(bytes, c->bits, c->type == CSE_ARROW_INT);
    const bool is_large = whole < 0 && c->type == CSE_ARROW_UNSIGNED;
    number->value = is_large ? (double)(uint64_t)whole : (double)whole;
    number->exact =
        is_large ? whole % 1099511627776 == 0 : (long double)(float)whole == (long double)whole;
    return CSE_OK;
}

cse_status cse_arrow_read_text(const cse_arrow_file *table, cse_arrow_cell cell, int64_t bytes,
                               char *text)
{
    span own = { 0, 0 };
    CSE_TRY(check_there(table, cell));
    CSE_TRY(find_values(table, cell, &own));
    if (bytes > own.count)
        return wrong(table, cell, "it is shorter");
    return read_block(table, &batch_of(table, cell.row)->parts[cell.column].data,
                      (uint64_t)own.first, text, (uint64_t)bytes);
}
