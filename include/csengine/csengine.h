/* csengine: the umbrella header. */
#ifndef CSENGINE_H
#define CSENGINE_H

#include "csengine/extend.h"
#include "csengine/generated/ops.h"
#include "csengine/model.h"
#include "csengine/status.h"
#include "csengine/tensor.h"
#include "csengine/train.h"

#endif
