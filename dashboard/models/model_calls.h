/* Calls to the models that this server serves. Each model computes in a process of its own, which
 * is started for the first call and again after it has ended; it answers several calls at a time,
 * and the others wait in a queue of bounded length. A thread for each model speaks with its
 * process.
 *
 * Only a call's own thread waits for its first word; a stream goes on without it. */
#ifndef CSE_DASHBOARD_MODELS_MODEL_CALLS_H
#define CSE_DASHBOARD_MODELS_MODEL_CALLS_H

#include "dashboard/api/route.h"
#include "dashboard/models/served_model.h"

enum { CSE_MOST_MODELS = 16, CSE_MODEL_TOGETHER = 16, CSE_MODEL_QUEUE = 8 };

typedef struct cse_models cse_models;

typedef struct cse_models_options {
    const char *executable;
    const cse_served_model *models; /* ended by one of zeros; NULL: none */
    int64_t context;                /* 0: as long as a model takes */
    int together;                   /* calls of a model at a time; 0: CSE_MODEL_TOGETHER */
    int queue;                      /* calls that wait; 0: CSE_MODEL_QUEUE */
} cse_models_options;

/* CSE_USAGE: two have one name, or there are too many; CSE_NO_INPUT: a path is not there. */
cse_status cse_models_open(const cse_models_options *options, cse_models **models);
/* Every call is answered, streams end, and no further call is taken. */
void cse_models_end(cse_models *models);
void cse_models_close(cse_models **models);

int cse_models_count(const cse_models *models);
/* NULL after the last one. */
const char *cse_models_name(const cse_models *models, int index);
/* The position of a name; NULL: that of the only model. -1: there is none. */
int cse_models_find(const cse_models *models, const char *name);

typedef struct cse_model_call cse_model_call;

typedef enum cse_model_outcome {
    CSE_MODEL_ANSWERED, /* status and text are there */
    CSE_MODEL_STREAMS,  /* the call is the `self` of cse_model_call_stream */
    CSE_MODEL_BUSY,     /* as many wait as may */
    CSE_MODEL_LOST,     /* its process has ended */
    CSE_MODEL_GONE,     /* the client has, or the server ends */
} cse_model_outcome;

typedef struct cse_model_asked {
    int model;
    int kind; /* cse_completion_kind */
    const json_t *body;
    int client; /* a socket, or -1 */
} cse_model_asked;

/* Waits for the first word of the model. Release *call with cse_model_call_release, unless it is
 * handed on as a stream. */
cse_model_outcome cse_models_call(cse_models *models, const cse_model_asked *asked,
                                  cse_model_call **call);
int cse_model_call_status(const cse_model_call *call);
const char *cse_model_call_text_view(const cse_model_call *call);
void cse_model_call_release(cse_model_call *call);

extern const cse_stream cse_model_call_stream;

#endif
