/* Training: a model, an optimizer, a schedule, loss scaling, a loop, checkpoints.
 *
 * It follows the reference API's full training example step by step. `training [CHECKPOINT]`
 * continues from a checkpoint if one is given. */
#include <stdio.h>

#include "csengine/csengine.h"

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *grad_scaler;
} training;

static cse_status save_checkpoint(void *self, const cse_values *values)
{
    char checkpoint_file[64];
    (void)self;
    snprintf(checkpoint_file, sizeof checkpoint_file, "checkpoint_%lld.mdl",
             (long long)cse_values_step(values));
    /* Model, optimizer, schedule, gradient scaler and global step. */
    return cse_save(checkpoint_file);
}

static cse_status post_training_step(void *self, const cse_values *values)
{
    (void)self;
    printf("Loss: %g\n", cse_value(values, 0));
    return CSE_OK;
}

/* Called once, for tracing; the traced operations run in every step. */
static cse_tensor *training_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *inputs = cse_input(step, "images");  /* [batch, 20] float32 */
    cse_tensor *targets = cse_input(step, "labels"); /* [batch] int32 */
    cse_tensor *outputs = cse_forward(t->model, inputs);
    cse_tensor *loss = cse_cross_entropy(outputs, targets);

    cse_optimizer_step(step, loss, t->optimizer, t->grad_scaler, &(cse_clip){ .max_norm = 1.0 });

    cse_step_closure(step, post_training_step, NULL, loss);
    cse_checkpoint_closure(step, save_checkpoint, NULL);
    return loss;
}

int main(int argc, char **argv)
{
    /* The first call; once per process. */
    cse_configure(&(cse_configuration){ .model_dir = ".", .num_csx = 2, .seed = 1 });

    cse_model *model =
        cse_model_new("fc_mnist", "{input_size: 20, hidden_sizes: [64, 32], num_classes: 4}");
    cse_optimizer *optimizer = cse_configure_optimizer("SGD", model, "{momentum: 0.9}");
    cse_configure_schedule(optimizer, "{scheduler: CosineDecayLR, initial_learning_rate: 0.1, "
                                      "end_learning_rate: 0.01, total_iters: 200}");
    training self = { .model = cse_compile(model),
                      .optimizer = optimizer,
                      .grad_scaler = cse_grad_scaler_new("{loss_scale: dynamic}") };

    /* Load a checkpoint if one is given. */
    if (argc > 1 && cse_load(argv[1]) != CSE_OK) {
        fprintf(stderr, "training: %s\n", cse_error_message());
        return 1;
    }

    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = "{data_processor: synthetic, samples: 4096, features: [20], classes: 4, "
                 "batch_size: 128, micro_batch_size: 32, shuffle: true}",
        .num_steps = 200,
        .checkpoint_steps = 100,
        .activation_steps = 20,
    });

    /* Each call before this one may have failed: the first failure is reported here. */
    cse_status status = cse_run(executor, training_step, &self);
    if (status != CSE_OK)
        fprintf(stderr, "training: %s\n", cse_error_message());
    cse_finish();
    return cse_status_exit_code(status);
}
