// All of Lowtide's public interface. Start with trainer.h.
#pragma once

#include "lowtide/bytes.h"
#include "lowtide/error.h"
#include "lowtide/event_file.h"
#include "lowtide/infer.h"
#include "lowtide/machine.h"
#include "lowtide/model.h"
#include "lowtide/npy.h"
#include "lowtide/optimizer.h"
#include "lowtide/plan.h"
#include "lowtide/settings.h"
#include "lowtide/trace.h"
#include "lowtide/trainer.h"
#include "lowtide/zoo.h"
