/* Bytes of data whose formats are ours to read: .npy arrays, tar archives with and without an
 * index, JSON lines, answers of programs. Each is refused with a message, or every place it names
 * lies in the file. The input's first byte chooses the format; an index stands before its archive,
 * behind two bytes with its length. */
#include <stdlib.h>
#include <string.h>

#include "dataloader/files/line_index.h"
#include "dataloader/files/tar_index.h"
#include "dataloader/formats/npy_file.h"
#include "dataloader/prepare/text_pieces.h"
#include "dataloader/programs/answer_tensors.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(cse_status status)
{
    if (status != CSE_OK && *cse_error_message() == '\0')
        abort();
}

static void read_npy(cse_file_pool *pool, int file)
{
    cse_npy_header header;
    cse_status status = cse_npy_read_header(pool, file, &header);
    check(status);
    if (status != CSE_OK || header.elements == 0)
        return;
    const int64_t count = header.elements < 1000 ? header.elements : 1000;
    unsigned char *raw = malloc((size_t)(count * header.size));
    float *values = malloc((size_t)count * sizeof *values);
    if (cse_file_pool_read(pool, file, header.offset + (header.elements - count) * header.size, raw,
                           (size_t)(count * header.size)) != CSE_OK)
        abort();
    cse_npy_convert(&header, raw, count, CSE_FLOAT32, values);
    cse_npy_convert(&header, raw, count, CSE_INT32, values);
    free(raw);
    free(values);
}

static int64_t archive_bytes;

static cse_status visit(void *self, const cse_tar_member *member)
{
    int *left = self;
    if (member->offset < 512 || member->bytes < 0 ||
        member->offset + member->bytes > archive_bytes || member->name[0] == '\0')
        abort();
    return --*left > 0 ? CSE_OK : cse_fail(CSE_DATA, "enough");
}

static void read_tar(cse_file_pool *pool, int file, const cse_text *index)
{
    int left = 10000;
    archive_bytes = cse_file_pool_bytes(pool, file);
    check(index == NULL ? cse_tar_scan(pool, file, visit, &left)
                        : cse_tar_scan_index(pool, file, index, visit, &left));
}

static void read_lines(cse_file_pool *pool, int file)
{
    cse_line_index index = { 0 };
    check(cse_line_index_make(&index, pool, file));
    for (int64_t i = 0; i < index.count && i < 100; i++) {
        size_t length;
        char *line = malloc((size_t)index.lines[i].bytes + 1), *text = NULL;
        if (cse_file_pool_read(pool, file, index.lines[i].offset, line,
                               (size_t)index.lines[i].bytes) != CSE_OK)
            abort();
        check(cse_json_line_text(line, (size_t)index.lines[i].bytes, "text", &text, &length));
        free(text);
        free(line);
    }
    cse_line_index_clear(&index);
}

static void read_answer(const uint8_t *data, size_t size)
{
    cse_answer_tensors answer;
    cse_status status = cse_answer_tensors_read(data, size, &answer);
    check(status);
    for (int i = 0; status == CSE_OK && i < answer.count; i++) {
        void *values = malloc((size_t)cse_shape_elements(answer.tensors[i].shape) * 4 + 1);
        check(cse_answer_tensor_copy(&answer.tensors[i], values));
        free(values);
    }
    if (status == CSE_OK)
        cse_answer_tensors_clear(&answer);
}

static void read_pieces(const char *path)
{
    cse_text_piece piece = { 0 };
    cse_text_pieces *pieces = cse_text_pieces_new(&path, 1, true);
    cse_status status;
    while ((status = cse_text_pieces_next(pieces, &piece)) == CSE_OK && piece.bytes != NULL)
        free(piece.bytes);
    check(status);
    cse_text_pieces_close(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_PATH_BYTES];
    int file;
    cse_text index = { 0 };
    if (size < 3)
        return 0;
    size_t begin = 1;
    const int way = data[0] % 6;
    if (way == 5) {
        read_answer(data + 1, size - 1);
        return 0;
    }
    if (way == 2) {
        size_t length = (size_t)data[1] | (size_t)data[2] << 8;
        length = length < size - 3 ? length : size - 3;
        cse_text_add_bytes(&index, (const char *)data + 3, length);
        begin = 3 + length;
    }
    const int memory = memory_file(data + begin, size - begin, path);
    cse_file_pool *pool = cse_file_pool_new(NULL, NULL);
    if (cse_file_pool_add(pool, path, &file) != CSE_OK)
        abort();
    if (way == 0)
        read_npy(pool, file);
    else if (way == 1)
        read_tar(pool, file, NULL);
    else if (way == 2)
        read_tar(pool, file, &index);
    else if (way == 3)
        read_lines(pool, file);
    else
        read_pieces(path);
    cse_file_pool_destroy(&pool);
    cse_text_clear(&index);
    close(memory);
    return 0;
}
