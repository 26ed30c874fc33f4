// The jump that a redirected function begins with.
#pragma once

#if defined(__x86_64__)
#include "moving/jump_x86_64.h"
#elif defined(__aarch64__)
#include "moving/jump_aarch64.h"
#endif
