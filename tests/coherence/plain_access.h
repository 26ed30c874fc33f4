#pragma once

namespace heaplab::coherence {

void add_one(int& number);
int look_at(const int& number);

}  // namespace heaplab::coherence
