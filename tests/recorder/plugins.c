// Loads libraries one after the other, by names that only the search path of this program finds, and calls
// each: library n acquires blocks of 40000 + n bytes. Usage: plugins
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  static const char* const names[] = {"one", "two", "one"};
  for (size_t number = 0; number < sizeof names / sizeof *names; ++number) {
    char file[64];
    snprintf(file, sizeof file, "librecorded_plugin_%s.so", names[number]);
    void* const library = dlopen(file, RTLD_NOW);
    if (library == NULL) return 1;
    void (*run)(size_t) = NULL;
    *(void**)&run = dlsym(library, names[number]);
    for (int time = 0; time < 10; ++time) run(40000 + number);
    if (dlclose(library) != 0) return 2;
  }
  return 0;
}
