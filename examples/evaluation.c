/* Evaluation: a model from a checkpoint, its mean loss and its accuracy.
 *
 * It follows the reference API's full evaluation example, without optimizer and gradient scaler.
 * `evaluation CHECKPOINT` evaluates what examples/training.c saved. */
#include <stdio.h>

#include "csengine/csengine.h"

typedef struct evaluation {
    cse_model *model;
    cse_metric *accuracy;
    double total_loss;
    int total_steps;
} evaluation;

static cse_status post_eval_step(void *self, const cse_values *values)
{
    evaluation *e = self;
    e->total_loss += cse_value(values, 0);
    e->total_steps++;
    return CSE_OK;
}

/* Called once, for tracing; the traced operations run in every step. */
static cse_tensor *evaluation_step(cse_step *step, void *self)
{
    evaluation *e = self;
    cse_tensor *inputs = cse_input(step, "images");  /* [batch, 20] float32 */
    cse_tensor *targets = cse_input(step, "labels"); /* [batch] int32 */
    cse_tensor *outputs = cse_forward(e->model, inputs);
    cse_tensor *loss = cse_cross_entropy(outputs, targets);

    cse_metric_update(e->accuracy, targets, cse_argmax(outputs, -1));

    cse_step_closure(step, post_eval_step, e, loss);
    return loss;
}

int main(int argc, char **argv)
{
    cse_configure(&(cse_configuration){ .model_dir = ".", .num_csx = 2, .seed = 1 });

    evaluation self = {
        .model = cse_compile(
            cse_model_new("fc_mnist", "{input_size: 20, hidden_sizes: [64, 32], num_classes: 4}")),
        .accuracy = cse_metric_new("accuracy", "accuracy")
    };
    cse_eval_mode(self.model);

    cse_status status = cse_load(argc > 1 ? argv[1] : "checkpoint_200.mdl");

    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = "{data_processor: synthetic, samples: 4096, features: [20], classes: 4, "
                 "batch_size: 128, micro_batch_size: 32}",
        .num_steps = 32,
    });

    double accuracy = 0;
    if (status == CSE_OK)
        status = cse_run(executor, evaluation_step, &self);
    if (status == CSE_OK)
        status = cse_metric_value(self.accuracy, &accuracy);
    if (status == CSE_OK)
        printf("Eval Loss: %g\nEval Accuracy: %g\n", self.total_loss / self.total_steps, accuracy);
    else
        fprintf(stderr, "evaluation: %s\n", cse_error_message());
    cse_finish();
    return cse_status_exit_code(status);
}
