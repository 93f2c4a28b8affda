/* The values of a past step that a replay has kept: cells of a picture, and files. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/replays/replays.h"
#include "dashboard/routes/step_part.h"

#define MOST_NPY_BYTES (INT64_C(256) << 20)

/* All of them; the file goes over to the answer. */
static void answer_npz(const cse_request *request, int file, cse_answer *answer)
{
    struct stat about;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    /* A descriptor with a position of its own. */
    const int own = open(path, O_RDONLY | O_CLOEXEC);
    if (own < 0 || fstat(own, &about) != 0) {
        if (own >= 0)
            close(own);
        cse_answer_problem(answer, CSE_PROBLEM_INTERNAL, "the values cannot be read");
        return;
    }
    cse_answer_empty(answer, 200);
    answer->file = own;
    answer->file_size = about.st_size;
    answer->content_type = "application/zip";
    cse_answer_header(answer, "Content-Disposition", "attachment; filename=\"%s_%lld.npz\"",
                      cse_request_text(request, "id", "step"),
                      (long long)cse_request_integer(request, "step", 0));
}

/* The tensor's name with what a file's name may have. */
static void file_name(const char *tensor, char name[200])
{
    size_t size = 0;
    for (; tensor[size] != '\0' && size < 190; size++) {
        const char c = tensor[size];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        name[size] = plain ? c : '_';
    }
    name[size] = '\0';
}

static void answer_part(const cse_request *request, const cse_value_part *part, cse_answer *answer)
{
    cse_text body = { 0 };
    char name[200];
    const bool npy = strcmp(cse_request_text(request, "format", "f32"), "npy") == 0;
    const cse_value_window window = { .row = cse_request_integer(request, "row", 0),
                                      .rows = cse_request_integer(request, "rows", 0),
                                      .column = cse_request_integer(request, "column", 0),
                                      .columns = cse_request_integer(request, "columns", 0),
                                      .most_rows = cse_request_integer(request, "most_rows", 512),
                                      .most_columns =
                                          cse_request_integer(request, "most_columns", 512) };
    const cse_status status = npy ? cse_value_part_npy(part, MOST_NPY_BYTES, &body)
                                  : cse_value_part_cells(part, &window, &body);
    if (status != CSE_OK) {
        cse_text_clear(&body);
        cse_answer_part_failure(answer, status);
        return;
    }
    cse_answer_text(answer, 200, "application/octet-stream", &body);
    file_name(cse_request_text(request, "tensor", ""), name);
    if (npy)
        cse_answer_header(answer, "Content-Disposition", "attachment; filename=\"%s_%lld.npy\"",
                          name, (long long)cse_request_integer(request, "step", 0));
}

static void get_values(const cse_request *request, cse_answer *answer)
{
    cse_step_part part;
    if (strcmp(cse_request_text(request, "format", "f32"), "npz") == 0) {
        const int file = cse_step_part_file(request, answer);
        if (file >= 0) {
            answer_npz(request, file, answer);
            close(file);
        }
        return;
    }
    if (cse_step_part_open(request, answer, &part)) {
        answer_part(request, &part.part, answer);
        cse_step_part_close(&part);
    }
}

static const char parameters[] = CSE_STEP_PART_PARAMETERS
    "format? 'f32'|'npy'|'npz' = f32  # f32: cells, float32 in little endian, row after row; npy: "
    "the part as an array of NumPy, up to 256 MiB; npz: all tensors that were kept\n"
    "row? integer 0.. = 0  # of f32: the first row of the window\n"
    "rows? integer 0.. = 0  # of the window; 0: up to the last\n"
    "column? integer 0.. = 0  # the first column\n"
    "columns? integer 0.. = 0  # of the window; 0: up to the last\n"
    "most_rows? integer 1..1024 = 512  # of cells: with N rows in the window, a cell has "
    "ceil(N / most_rows) of them, and shows the largest value without regard of its sign, NaN "
    "where there is one\n"
    "most_columns? integer 1..1024 = 512  # the same of columns\n";

const cse_route cse_route_step_values = {
    .path = "/api/v1/jobs/{id}/steps/{step}/values",
    .tag = "data",
    .operations = {
        { CSE_OPERATION("GET", "getStepValues", get_values,
                        "Values of a past step that were kept: a part of a tensor"),
          .doc = "replayStep with keep: true keeps them. The part is what `at` leaves of the "
                 "dimensions; the last of these are its columns, all others its rows.",
          .parameters = parameters,
          .replies = "200 application/octet-stream binary  # The cells, or the array\n"
                     "200 application/zip binary  # All tensors\n",
          .problems = "416",
          .slow = true },
    },
};
