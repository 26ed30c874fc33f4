// Replaces operator new and operator delete for one object, and uses forms of them that it leaves to the
// malloc library. Exit status 0: these came to its own.
#include <cstddef>
#include <new>

namespace {

alignas(std::max_align_t) char place[64];
bool used = false;

// The compiler takes it that no operator new returns the address of a variable, or changes one.
void* unknown(void* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

}  // namespace

void* operator new(std::size_t) {
  if (used) throw std::bad_alloc();
  used = true;
  return place;
}

void operator delete(void* block) noexcept {
  if (block == place) used = false;
}

// Calls the functions themselves: a new-expression may be left out.
int main() {
  void* const array = unknown(::operator new[](10));
  if (array != place || unknown(::operator new[](10, std::nothrow)) != nullptr) return 1;
  ::operator delete[](unknown(array), 10);
  ::operator delete(unknown(::operator new(10)), 10);
  unknown(place);
  return used ? 2 : 0;
}
