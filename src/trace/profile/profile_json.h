// A profile, and call sites, as JSON for heaplab's front end (python/heaplab/traces/profile.py).
#pragma once

#include <cstdint>

#include "probes/json_line.h"
#include "trace/file/trace_file.h"
#include "trace/profile/block_habits.h"
#include "trace/profile/profile.h"
#include "trace/profile/subsystems.h"

namespace heaplab::trace {

// An object. Tables are lists of rows; what is all zero is left out.
void put_profile(probes::json_line& out, const profile& of);
// By call site: number, temporaries, their bytes, chains, growths, bytes copied.
void put_habits(probes::json_line& out, const block_habits& of);

// Objects in the order of the groups.
void put_subsystems(probes::json_line& out, const subsystems& of);

// An object: the code addresses of each site, from site 1; lines on modules and on code addresses.
void put_sites(probes::json_line& out, trace_file& file, std::uint32_t process);

}  // namespace heaplab::trace
