/* A user's program that is submitted as a job: tries what a job may not do, says how that went, and
 * trains `argv[1]` steps. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csengine/csengine.h"

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_output *loss;
} training;

static cse_status tell(void *self, const cse_values *values)
{
    (void)self;
    printf("seen %lld\n", (long long)cse_values_step(values));
    return CSE_OK;
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    t->loss = cse_step_output(step, NULL, loss);
    cse_step_closure(step, tell, NULL, loss);
    return loss;
}

static void try_to_open(const char *path, int flags)
{
    const int opened = open(path, flags, 0666);
    printf("%s: %s\n", path, opened >= 0 ? "opened" : strerror(errno));
    if (opened >= 0)
        close(opened);
}

int main(int argc, char **argv)
{
    const long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 4;
    for (int i = 2; i < argc; i++)
        try_to_open(argv[i], i == 2 ? O_RDONLY : O_WRONLY | O_CREAT);
    cse_configure(&(cse_configuration){
        .model_dir = "/nowhere/else", .seed = 1, .dashboard = getenv("TRAINER_DASHBOARD") });
    training t = { .model = cse_compile(cse_model_new(
                       "fc_mnist", "{input_size: 4, hidden_sizes: [4], num_classes: 2}")) };
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.01}");
    cse_loop *loop = cse_execution_begin(
        cse_executor_new(&(cse_executor_options){
            .input = "{data_processor: synthetic, samples: 64, features: [4], classes: 2, "
                     "batch_size: 8}",
            .num_steps = steps,
            .checkpoint_steps = steps,
            .activation_steps = steps > 100 ? 100 : 2 }),
        training_step, &t);
    while (cse_execution_next(loop, -1) == CSE_NEXT_STEP)
        if (cse_execution_at_checkpoint(loop) && cse_save("own.mdl") != CSE_OK)
            fprintf(stderr, "csengine: error: %s\n", cse_error_message());
    cse_status status = cse_execution_end(&loop);
    if (status != CSE_OK)
        fprintf(stderr, "csengine: error: %s\n", cse_error_message());
    cse_finish();
    return cse_status_exit_code(status);
}
