/* The data of the training: samples as they are decoded, which samples a step takes, and those that
 * could not be read. */
#include <stdlib.h>
#include <string.h>

#include "dashboard/routes/route_support.h"
#include "dataloader/step_samples.h"
#include "engine/base/arena.h"

enum { MOST_NUMBERS = 4096, MOST_BAD_LINES = 20 };

static json_t *read_data(cse_store_reader *reader, cse_status *status)
{
    cse_text text = { 0 };
    *status = cse_store_reader_artefact(reader, "data.json", &text, NULL, 0);
    json_t *data = *status == CSE_OK ? json_loadb(text.data, text.size, 0, NULL) : NULL;
    if (*status == CSE_OK && !json_is_object(data))
        *status = cse_fail(CSE_DATA, "the run store's data.json is no object");
    cse_text_clear(&text);
    return data;
}

static int64_t whole(const json_t *data, const char *name)
{
    return json_integer_value(json_object_get(data, name));
}

/* Appends a list for each microbatch of the step. */
static void add_microbatches(const cse_step_order *order, int64_t step, json_t *list)
{
    const int64_t size = order->micro_batch_size;
    int64_t numbers[MOST_NUMBERS], total = 0;
    if (size < 1 || size > MOST_NUMBERS)
        return;
    for (int64_t m = 0; total + size <= MOST_NUMBERS; m++) {
        const int64_t count = cse_step_samples(order, step - 1, m, numbers);
        if (count == 0)
            break;
        json_t *of_microbatch = json_array();
        for (int64_t i = 0; i < count; i++)
            json_array_append_new(of_microbatch, json_integer(numbers[i]));
        json_array_append_new(list, of_microbatch);
        total += count;
    }
}

/* The samples of a step, from 1, in the order of its microbatches; none where they are drawn by
 * weights, which are with the data. */
static json_t *samples_of(const json_t *data, int64_t step)
{
    json_t *list = json_array();
    const json_t *left_out = json_object_get(data, "without");
    const size_t left_out_count = json_array_size(left_out);
    int64_t *without = cse_calloc(left_out_count + 1, sizeof *without);
    for (size_t i = 0; i < left_out_count; i++)
        without[i] = json_integer_value(json_array_get(left_out, i));
    const json_t *seed = json_object_get(data, "shuffle_seed");
    const cse_step_order order = {
        .samples = whole(data, "samples"),
        .batch_size = whole(data, "batch_size"),
        .micro_batch_size = whole(data, "micro_batch_size"),
        .shuffle = json_is_true(json_object_get(data, "shuffle")),
        .shuffle_seed = strtoull(json_is_string(seed) ? json_string_value(seed) : "0", NULL, 10),
        .drop_last = json_is_true(json_object_get(data, "drop_last")),
        .skip_samples = whole(data, "skip_samples"),
        .is_stream = json_is_true(json_object_get(data, "stream")),
        .without = without,
        .without_count = (int64_t)left_out_count,
    };
    if (!json_is_true(json_object_get(data, "drawn")))
        add_microbatches(&order, step, list);
    free(without);
    return list;
}

static void take_line(void *self, const cse_row *row)
{
    json_t *list = self;
    const char *message = row->fields[5].text;
    if (message == NULL || strncmp(message, "bad record: ", 12) != 0 ||
        json_array_size(list) >= MOST_BAD_LINES)
        return;
    json_array_append_new(list,
                          json_pack("{s:I, s:s?, s:I, s:s, s:s?}", "time_ms",
                                    (json_int_t)row->fields[1].integer, "role", row->fields[2].text,
                                    "rank", (json_int_t)row->fields[3].integer, "message",
                                    message + 12, "host", row->fields[6].text));
}

static json_t *bad_records(cse_store_reader *reader)
{
    static const char *const levels[] = { "warning", NULL };
    json_t *lines = json_array();
    cse_point point = { .value = 0 };
    const cse_store_query query = { .limit = 10000,
                                    .filters = { { .column = "level", .values = levels } } };
    if (cse_store_reader_rows(reader, CSE_ROW_LOG, &query, take_line, lines) != CSE_OK)
        json_array_clear(lines);
    cse_store_reader_last_point(reader, "bad_records", &point);
    int64_t count = (int64_t)point.value;
    if (count < (int64_t)json_array_size(lines))
        count = (int64_t)json_array_size(lines); /* it ended before it was counted */
    return json_pack("{s:I, s:o}", "count", (json_int_t)count, "first", lines);
}

static void get_data(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_status status;
    if (!cse_server_open_run(request, answer, &run))
        return;
    json_t *data = read_data(run.reader, &status);
    if (status == CSE_OK) {
        const int64_t step = cse_request_integer(request, "step", whole(data, "step"));
        json_object_set_new(data, "step", json_integer(step));
        json_object_set_new(data, "step_samples", samples_of(data, step));
        json_object_set_new(data, "bad_records", bad_records(run.reader));
    }
    cse_server_close_run(request, &run);
    cse_answer_result(answer, status, data);
}

static const char parameters[] = "step? integer 1..  # whose samples are asked for\n";

static const char schemas[] =
    "BadRecord\n"
    "  time_ms time\n"
    "  role string|null\n"
    "  rank integer\n"
    "  message string  # the sample, its file and the reason\n"
    "  host string|null  # as of a LogLine\n"
    "BadRecords  # samples that could not be read and were replaced (on_bad_record: skip)\n"
    "  count integer 0..  # of reads, also of validations and of steps that were read ahead\n"
    "  first [BadRecord]\n"
    "Data\n"
    "  input string  # name of the input function\n"
    "  source string  # its file or folder\n"
    "  samples integer  # of an epoch\n"
    "  batch_size,micro_batch_size,steps_per_epoch,skip_samples integer\n"
    "  shuffle boolean\n"
    "  stream? boolean  # numbers of samples are places in the stream of all epochs\n"
    "  without? [integer]  # samples that no batch has\n"
    "  drawn? boolean  # with replacement, by weights: step_samples is empty then\n"
    "  shuffle_seed string\n"
    "  drop_last boolean\n"
    "  step integer  # from 1\n"
    "  step_samples [[integer]]  # of the step, by microbatch; at most 4096\n"
    "  examples [SampleView]  # that the first step of this start of the run took\n"
    "  bad_records BadRecords\n";

const cse_route cse_route_data = {
    .path = "/api/v1/jobs/{id}/data",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getData", get_data,
                        "The data of the training: samples, which ones a step takes, bad ones"),
          .parameters = parameters,
          .replies = "200 Data",
          .problems = "503" },
    },
};
