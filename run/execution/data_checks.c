/* The labels of the data are known by their limit; which sample has one that is too large is looked
 * for only then. */
#include "run/execution/data_checks.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/base/types/shape.h"
#include "engine/graph/passes/pass.h"

/* ---- labels ---- */

static int find_labels(const cse_input *input)
{
    for (int s = 0; s < input->stream_count; s++)
        if (strcmp(input->streams[s].name, "labels") == 0 && input->streams[s].shape.rank == 0 &&
            input->streams[s].dtype == CSE_INT32)
            return s;
    return -1;
}

/* How many classes the graph tells apart by the labels of the data; 0: it does not say. */
static int64_t classes_of(const cse_graph *graph, const char **user)
{
    for (int i = 0; i < graph->input_count; i++)
        if (strcmp(graph->inputs[i].name, "labels") == 0)
            return cse_input_index_count(graph, i, user);
    return 0;
}

/* The first sample whose label is no class, as "train.csv:3: column 2: label 7"; or nothing. */
static void find_sample(cse_dataloader *loader, int64_t classes, char *text, size_t size)
{
    const cse_input *input = cse_dataloader_input_view(loader);
    const int labels = find_labels(input);
    void *outputs[CSE_MAX_STREAMS];
    int32_t label = 0;
    text[0] = '\0';
    for (int s = 0; s < input->stream_count; s++)
        outputs[s] = cse_calloc((size_t)cse_shape_elements(input->streams[s].shape) + 1, 4);
    for (int64_t i = 0; i < input->sample_count && label < classes; i++) {
        const cse_element_place place = { .stream = labels, .sample = i };
        char where[PATH_MAX + 64];
        if (cse_dataloader_read_samples(loader, i, 1, outputs) != CSE_OK)
            break;
        label = ((const int32_t *)outputs[labels])[0];
        if (label < classes)
            continue;
        snprintf(where, sizeof where, "sample %" PRId64, i);
        if (input->descriptor->locate != NULL)
            input->descriptor->locate(input, &place, where, sizeof where);
        snprintf(text, size, "%s: label %" PRId32, where, label);
    }
    for (int s = 0; s < input->stream_count; s++)
        free(outputs[s]);
}

static cse_status too_many_classes(const cse_input *input, int64_t classes, const char *use)
{
    enum { SHOWN = 20 };
    cse_text names = { 0 };
    for (int i = 0; i < input->class_count && i < SHOWN; i++)
        cse_text_add(&names, "%s%.100s", i > 0 ? ", " : "", input->class_names[i]);
    cse_status status =
        cse_fail(CSE_DATA,
                 "%s: the data have %d classes (%s%s), but the model tells %" PRId64
                 " apart (%s): set its number of classes to %d, or leave classes out",
                 input->source, input->class_count, names.data,
                 input->class_count > SHOWN ? ", ..." : "", classes, use, input->class_count);
    cse_text_clear(&names);
    return status;
}

static cse_status check_labels(const cse_graph *graph, cse_dataloader *loader)
{
    char place[PATH_MAX + 128];
    const char *use = NULL;
    const cse_input *input = cse_dataloader_input_view(loader);
    if (find_labels(input) < 0)
        return CSE_OK;
    const int64_t classes = classes_of(graph, &use);
    if (classes == 0)
        return CSE_OK;
    if (input->class_count > classes)
        return too_many_classes(input, classes, use);
    if (input->label_limit <= classes)
        return CSE_OK;
    find_sample(loader, classes, place, sizeof place);
    return cse_fail(CSE_DATA,
                    "%s%slabels go up to %" PRId64 ", but the model tells %" PRId64
                    " classes apart (%s), 0 to %" PRId64 ": set its number of classes to %" PRId64
                    ", or correct the label",
                    place[0] != '\0' ? place : input->source, place[0] != '\0' ? "; " : ": ",
                    input->label_limit - 1, classes, use, classes - 1, input->label_limit);
}

/* ---- features ---- */

static void keep_features(cse_session *session, const cse_input *input)
{
    const size_t count = input->feature_names != NULL ? (size_t)input->feature_count : 0;
    const char **names = cse_arena_alloc(session->arena, (count + 1) * sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = cse_arena_string(session->arena, input->feature_names[i]);
    session->data.feature_names = names;
    session->data.feature_count = (int64_t)count;
}

/* Features are told apart by their order alone where one of the two has no names. */
static cse_status check_features(const cse_session *session, const cse_input *input)
{
    if (session->data.feature_count == 0 || input->feature_names == NULL ||
        input->feature_count != session->data.feature_count)
        return CSE_OK; /* another number of them does not fit the model, which says so */
    for (int64_t i = 0; i < input->feature_count; i++)
        if (strcmp(input->feature_names[i], session->data.feature_names[i]) != 0)
            return cse_fail(CSE_DATA,
                            "%s: feature %" PRId64 " is column \"%s\", but in the training data it "
                            "is \"%s\": name the columns in one order with features",
                            input->source, i, input->feature_names[i],
                            session->data.feature_names[i]);
    return CSE_OK;
}

/* ---- data of later validations ---- */

static cse_status check_later(cse_session *session, const cse_graph *graph)
{
    cse_status status = CSE_OK;
    for (int i = 0; i < session->plan.later_count && status == CSE_OK; i++) {
        cse_dataloader *loader = NULL;
        status = cse_session_open_data(session, session->plan.later_data[i].settings, &loader);
        if (status == CSE_OK)
            status = check_features(session, cse_dataloader_input_view(loader));
        if (status == CSE_OK)
            status = check_labels(graph, loader);
        cse_dataloader_close(&loader);
    }
    session->plan.later_count = 0;
    return status;
}

cse_status cse_session_check_data(cse_session *session, const cse_graph *graph,
                                  cse_dataloader *loader, bool training)
{
    if (session->hooks.ask_data != NULL || session->configuration.compile_only)
        return CSE_OK; /* the host that has the data looks at them */
    CSE_TRY(check_labels(graph, loader));
    if (!training)
        return check_features(session, cse_dataloader_input_view(loader));
    keep_features(session, cse_dataloader_input_view(loader));
    return session->configuration.validate_only ? CSE_OK : check_later(session, graph);
}
