/* csengine: the umbrella header.
 *
 * A whole program: a network trained on made-up data by two replica processes.
 *
 *     #include <stdio.h>
 *
 *     #include <csengine/csengine.h>
 *
 *     typedef struct training {
 *         cse_model *model;
 *         cse_optimizer *optimizer;
 *     } training;
 *
 *     static cse_status print_loss(void *self, const cse_values *values)
 *     {
 *         (void)self;
 *         printf("step %lld: loss %g\n", (long long)cse_values_step(values), cse_value(values, 0));
 *         return CSE_OK;
 *     }
 *
 *     static cse_tensor *training_step(cse_step *step, void *self)
 *     {
 *         const training *t = self;
 *         cse_tensor *outputs = cse_forward(t->model, cse_input(step, "images"));
 *         cse_tensor *loss = cse_cross_entropy(outputs, cse_input(step, "labels"));
 *         cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
 *         cse_step_closure(step, print_loss, NULL, loss);
 *         return loss;
 *     }
 *
 *     int main(void)
 *     {
 *         cse_configure(&(cse_configuration){ .num_csx = 2, .seed = 1 });
 *         cse_model *model = cse_compile(cse_model_new(
 *             "fc_mnist", "{input_size: 16, hidden_sizes: [32], num_classes: 4}"));
 *         training self = { model, cse_configure_optimizer("Adam", model, "{lr: 0.01}") };
 *         cse_executor *executor = cse_executor_new(&(cse_executor_options){
 *             .input = "{data_processor: synthetic, samples: 1024, features: [16], classes: 4, "
 *                      "batch_size: 64, micro_batch_size: 32}",
 *             .num_steps = 50,
 *             .activation_steps = 10,
 *         });
 *         cse_status status = cse_run(executor, training_step, &self);
 *         if (status != CSE_OK)
 *             fprintf(stderr, "%s\n", cse_error_message());
 *         cse_finish();
 *         return cse_status_exit_code(status);
 *     }
 *
 * Compile with `cc program.c $(pkg-config --cflags --libs csengine)`. */
#ifndef CSENGINE_H
#define CSENGINE_H

#include "csengine/callback.h"
#include "csengine/extend.h"
#include "csengine/generated/ops.h"
#include "csengine/input.h"
#include "csengine/logger.h"
#include "csengine/metric.h"
#include "csengine/model.h"
#include "csengine/op.h"
#include "csengine/optimizer.h"
#include "csengine/plugin.h"
#include "csengine/run.h"
#include "csengine/schedule.h"
#include "csengine/sparsity.h"
#include "csengine/status.h"
#include "csengine/tensor.h"
#include "csengine/train.h"

#endif
