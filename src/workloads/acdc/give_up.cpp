#include "workloads/acdc/give_up.h"

#include <unistd.h>

#include "base/text_line.h"

namespace heaplab::acdc {

void give_up(const char* why) {
  text_line line;
  line.add("acdc: ").add(why);
  line.write_to(STDERR_FILENO);
  ::_exit(1);
}

}  // namespace heaplab::acdc
