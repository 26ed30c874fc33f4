// The only header of the harness that a workload includes. docs/adding-a-workload.md shows the use.
#pragma once

#include "workloads/harness/destination.h"
#include "workloads/harness/guard_blocks.h"
#include "workloads/harness/heap_calls.h"
#include "workloads/harness/measurement.h"
#include "workloads/harness/option_table.h"
#include "workloads/harness/program.h"
#include "workloads/harness/random_stream.h"
#include "workloads/harness/shared_options.h"
#include "workloads/harness/size_mix.h"
#include "workloads/harness/stamp.h"
#include "workloads/harness/stepped_sizes.h"
#include "workloads/harness/thread_arrays.h"
#include "workloads/harness/touching.h"
#include "workloads/harness/usage_error.h"
