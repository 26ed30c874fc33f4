// Replaces operator new and operator delete for one object, and uses forms of them that it leaves to the
// malloc library. Exit status 0: these came to its own.
#include <cstddef>
#include <new>

namespace {

alignas(std::max_align_t) char place[64];
bool used = false;

}  // namespace

void* operator new(std::size_t) {
  if (used) throw std::bad_alloc();
  used = true;
  return place;
}

void operator delete(void* block) noexcept {
  if (block == place) used = false;
}

// The functions themselves, and volatile: the compiler may leave out what a new-expression would call, and
// takes it that no operator new returns the address of a variable.
int main() {
  void* volatile const array = ::operator new[](10);
  void* volatile const second = ::operator new[](10, std::nothrow);
  if (array != place || second != nullptr) return 1;
  ::operator delete[](array, 10);
  void* volatile const one = ::operator new(10);
  ::operator delete(one, 10);
  return used ? 2 : 0;
}
